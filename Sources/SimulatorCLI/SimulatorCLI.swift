import ArgumentParser
import SimulateCommand

/// `samovar simulate` by itself, which is built in half the time.
@main
enum SimulatorCLI {
    static func main() {
        SimulateCommand.main()
    }
}
