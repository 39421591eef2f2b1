import SwiftSyntax

extension SyntaxProtocol {
    /// The code with single spaces, or its beginning.
    var oneLine: String {
        let code = trimmedDescription.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return code.count <= 160 ? code : "\(code.prefix(160))…"
    }
}

extension IntegerLiteralExprSyntax {
    /// The expression or the declaration that it is a part of: alone it says nothing.
    var place: Syntax? {
        var place = parent
        while let inner = place,
            inner.is(LabeledExprSyntax.self) || inner.kind.isSyntaxCollection || inner.is(ArrayElementSyntax.self)
        {
            place = inner.parent
        }
        return place
    }
}

extension ExprSyntax {
    /// Behind `try` and `await`.
    var withoutEffects: ExprSyntax {
        if let attempt = self.as(TryExprSyntax.self) { return attempt.expression.withoutEffects }
        if let wait = self.as(AwaitExprSyntax.self) { return wait.expression.withoutEffects }
        return self
    }
}

extension InfixOperatorExprSyntax {
    var operatorText: String? { self.operator.as(BinaryOperatorExprSyntax.self)?.operator.text }

    /// A whole condition, which is changed as such.
    var isCondition: Bool {
        guard let parent else { return false }
        return parent.is(ConditionElementSyntax.self) || parent.is(WhereClauseSyntax.self)
            || parent.as(TernaryExprSyntax.self)?.condition.id == id
    }
}

extension CodeBlockItemSyntax {
    private var isAlone: Bool { parent?.as(CodeBlockItemListSyntax.self)?.count == 1 }

    /// Its value may be that of a function, a closure or an `if` around it.
    var mayGiveValue: Bool {
        guard isAlone else { return false }
        guard let block = parent?.parent else { return false }
        if block.is(ClosureExprSyntax.self) || block.is(AccessorBlockSyntax.self) { return true }
        if let entry = block.as(SwitchCaseSyntax.self) {
            return entry.parent?.parent.map { $0.isValue } ?? false
        }
        guard let owner = block.parent else { return false }
        if let function = owner.as(FunctionDeclSyntax.self) { return function.signature.returnClause != nil }
        if let accessor = owner.as(AccessorDeclSyntax.self) { return accessor.accessorSpecifier.text == "get" }
        if owner.is(IfExprSyntax.self) { return owner.isValue }
        return owner.is(SubscriptDeclSyntax.self)
    }

    /// Members of an initializer must be set.
    var isInInitializer: Bool {
        var next = parent
        while let current = next {
            if current.is(InitializerDeclSyntax.self) { return true }
            if current.is(FunctionDeclSyntax.self) { return false }
            next = current.parent
        }
        return false
    }

    /// It leaves an `if` that has no `else`, so that without it the code below goes on.
    var endsOptionalBranch: Bool {
        guard let block = parent?.parent?.as(CodeBlockSyntax.self), let branch = block.parent?.as(IfExprSyntax.self) else {
            return false
        }
        return branch.elseBody == nil && branch.body.id == block.id && !Syntax(branch).isValue
    }
}

extension Syntax {
    /// Of an `if` or a `switch`: whether its value may be asked for.
    var isValue: Bool {
        // `else if` belongs to the `if` before it.
        if let outer = parent?.as(IfExprSyntax.self) { return Syntax(outer).isValue }
        guard let statement = parent?.as(ExpressionStmtSyntax.self) else { return true }
        return statement.parent?.as(CodeBlockItemSyntax.self)?.mayGiveValue ?? true
    }

    var nameOfFunction: String? {
        if let function = self.as(FunctionDeclSyntax.self) { return function.name.text }
        if self.is(InitializerDeclSyntax.self) { return "init" }
        if self.is(DeinitializerDeclSyntax.self) { return "deinit" }
        if self.is(SubscriptDeclSyntax.self) { return "subscript" }
        if let variable = self.as(VariableDeclSyntax.self), variable.parent?.is(MemberBlockItemSyntax.self) == true {
            return variable.bindings.first?.pattern.trimmedDescription
        }
        return nil
    }

    var nameOfType: String? {
        if let type = self.as(ExtensionDeclSyntax.self) { return type.extendedType.trimmedDescription }
        return self.asProtocol((any NamedDeclSyntax).self).flatMap { $0.is(FunctionDeclSyntax.self) ? nil : $0.name.text }
    }
}
