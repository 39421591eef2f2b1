import ServiceLifecycle
import Logging
import Metrics
