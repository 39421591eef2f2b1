// Sizes come from outside: a few sparse files may claim more bytes than an integer can count, and must not trap `update`.
extension Int {
    func plus(clamped other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    func times(clamped other: Int) -> Int {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}
