import SwiftOperators
import SwiftParser
import SwiftSyntax

/// Finds every place of a source that can be changed.
public enum Finder {
    /// - Parameter file: its path below `Sources`.
    public static func mutants(in text: String, file: String) -> [Mutant] {
        let parsed = Parser.parse(source: text)
        // An operator that is not of the standard library stays as it is, and is not changed.
        let tree = OperatorTable.standardOperators.foldAll(parsed) { _ in }
        let visitor = Visitor(file: file, tree: tree)
        visitor.walk(tree)
        var seen: [Mutant.Key: Int] = [:]
        return visitor.found.sorted { ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound) }.map
        {
            var mutant = $0
            seen[$0.key, default: 0] += 1
            mutant.occurrence = seen[$0.key] ?? 1
            return mutant
        }
    }
}

private final class Visitor: SyntaxVisitor {
    private let file: String
    private let converter: SourceLocationConverter
    private(set) var found: [Mutant] = []

    init(file: String, tree: Syntax) {
        self.file = file
        converter = SourceLocationConverter(fileName: file, tree: tree)
        super.init(viewMode: .sourceAccurate)
    }

    // MARK: Left alone

    override func visit(_ node: AttributeSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_ node: StringLiteralExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_ node: EnumCaseElementSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_ node: MacroExpansionExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }

    override func visit(_ node: StructDeclSyntax) -> SyntaxVisitorContinueKind {
        node.name.text == Rules.settings ? .skipChildren : .visitChildren
    }

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
        Rules.isLeftAlone(node) ? .skipChildren : .visitChildren
    }

    override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind {
        let names = node.bindings.compactMap { $0.pattern.as(IdentifierPatternSyntax.self)?.identifier.text }
        return names.contains { Rules.properties.contains($0) } ? .skipChildren : .visitChildren
    }

    // MARK: Statements

    override func visit(_ node: CodeBlockItemSyntax) -> SyntaxVisitorContinueKind {
        switch node.item {
        case .expr(let expression):
            if isCounter(expression) { return .skipChildren }
            if isOrder(expression), !node.mayGiveValue, !(isAssignment(expression) && node.isInInitializer) {
                add(node.item, .statementRemoved, .removed)
            }
        case .stmt(let statement):
            let isLeaving =
                statement.is(ReturnStmtSyntax.self) || statement.is(ContinueStmtSyntax.self) || statement.is(BreakStmtSyntax.self)
                || statement.is(ThrowStmtSyntax.self)
            if isLeaving, node.endsOptionalBranch { add(node.item, .statementRemoved, .removed) }
        case .decl: break
        }
        return .visitChildren
    }

    /// A call or an assignment.
    private func isOrder(_ expression: ExprSyntax) -> Bool {
        if let call = expression.withoutEffects.as(FunctionCallExprSyntax.self) { return !Rules.isLeftAlone(call) }
        return isAssignment(expression)
    }

    private func isAssignment(_ expression: ExprSyntax) -> Bool {
        guard let infix = expression.withoutEffects.as(InfixOperatorExprSyntax.self) else { return false }
        return infix.operator.is(AssignmentExprSyntax.self) || infix.operatorText.map(Self.assignments.contains) == true
    }

    private static let assignments: Set<String> = [
        "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "&+=", "&-=", "&*=", "<<=", ">>=",
    ]

    private func isCounter(_ expression: ExprSyntax) -> Bool {
        guard isAssignment(expression), let infix = expression.withoutEffects.as(InfixOperatorExprSyntax.self) else { return false }
        return Rules.isCounter(infix.leftOperand)
    }

    // MARK: Conditions

    override func visit(_ node: ConditionElementListSyntax) -> SyntaxVisitorContinueKind {
        let isDroppable = node.count > 1 || node.parent?.is(GuardStmtSyntax.self) == true
        for element in node {
            guard case .expression(let condition) = element.condition, !condition.is(MacroExpansionExprSyntax.self) else {
                continue
            }
            add(condition, .conditionNegated, .argument("negates"))
            if isDroppable { add(condition, .conditionDropped, .argument("assumes")) }
        }
        return .visitChildren
    }

    override func visit(_ node: WhereClauseSyntax) -> SyntaxVisitorContinueKind {
        add(node.condition, .conditionNegated, .argument("negates"))
        add(node.condition, .conditionDropped, .argument("assumes"))
        return .visitChildren
    }

    override func visit(_ node: TernaryExprSyntax) -> SyntaxVisitorContinueKind {
        add(node.condition, .conditionNegated, .argument("negates"))
        return .visitChildren
    }

    // MARK: Operators

    override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
        switch node.operatorText {
        case "&&"?: dropOperands(of: node, "assumes")
        case "||"?: dropOperands(of: node, "denies")
        case "==", "!=": if !node.isCondition { add(node, .conditionNegated, .argument("negates")) }
        case "<"?: moveBound(of: node, "less")
        case "<="?: moveBound(of: node, "atMost")
        case ">"?: moveBound(of: node, "greater")
        case ">="?: moveBound(of: node, "atLeast")
        default: break
        }
        return .visitChildren
    }

    private func dropOperands(of node: InfixOperatorExprSyntax, _ label: String) {
        for operand in [node.leftOperand, node.rightOperand] {
            // Of a chain, each operand comes once.
            if operand.as(InfixOperatorExprSyntax.self)?.operatorText == node.operatorText { continue }
            add(operand, .conditionDropped, .argument(label))
        }
    }

    private func moveBound(of node: InfixOperatorExprSyntax, _ label: String) {
        let gap =
            node.leftOperand.endPositionBeforeTrailingTrivia
            .utf8Offset..<node.rightOperand.positionAfterSkippingLeadingTrivia.utf8Offset
        add(node, .boundMoved, .operands(label, operator: gap))
    }

    // MARK: Values

    override func visit(_ node: IntegerLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        if let value = Int(node.literal.text), value <= Rules.largestLiteral {
            add(node, .literalMoved, .alternative("\(value + 1)"), within: node.place)
        }
        return .skipChildren
    }

    override func visit(_ node: LabeledExprSyntax) -> SyntaxVisitorContinueKind {
        if node.label?.text == "floor", node.expression.trimmedDescription != ".none" {
            add(node.expression, .floorWeakened, .alternative(".none"))
        }
        return .visitChildren
    }

    // MARK: What was found

    /// - Parameter context: what is shown instead of the place alone, which would say too little.
    private func add(_ node: some SyntaxProtocol, _ change: Change, _ form: Form, within context: Syntax? = nil) {
        let start = node.positionAfterSkippingLeadingTrivia
        let (function, whole) = enclosing(Syntax(node))
        found.append(
            Mutant(
                file: file, line: converter.location(for: start).line, function: function, change: change,
                original: (context ?? Syntax(node)).oneLine,
                range: start.utf8Offset..<node.endPositionBeforeTrailingTrivia.utf8Offset, form: form,
                functionLines: lines(of: whole)))
    }

    private func lines(of node: Syntax) -> ClosedRange<Int> {
        converter.location(for: node.positionAfterSkippingLeadingTrivia)
            .line...converter.location(for: node.endPositionBeforeTrailingTrivia).line
    }

    /// The function with its type, and its outermost declaration that is no type.
    private func enclosing(_ node: Syntax) -> (name: String, whole: Syntax) {
        var names: [String] = []
        var whole = node
        var next = node.parent
        while let current = next {
            if let name = current.nameOfFunction {
                names.insert(name, at: 0)
                whole = current
            } else if let name = current.nameOfType {
                names.insert(name, at: 0)
            }
            next = current.parent
        }
        return (names.joined(separator: "."), whole)
    }
}
