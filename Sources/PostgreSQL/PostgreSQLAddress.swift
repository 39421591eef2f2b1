internal import CPostgreSQL
internal import Foundation

/// Where a server is: a URI `postgresql://host/database?…`, as libpq reads it.
///
/// A password does not stand in it, where everybody who lists processes or reads settings would see it: libpq takes it from `~/.pgpass`,
/// from the file that `PGPASSFILE` names, or from a service of `pg_service.conf`. Beyond the machine, the server has to prove who it is:
/// `sslmode=verify-full`, which is put in where nothing is said, and required where something is.
public struct PostgreSQLAddress: Hashable, Sendable, CustomStringConvertible {
    /// As it is given to libpq.
    let text: String
    /// As it was given.
    public let description: String
    /// Its hosts one by one, as settings that take the place of its own; one without settings if a service names it.
    let hosts: [[String: String]]
    /// Whether it has several hosts, and would take whichever answers first. A service may say otherwise.
    package let takesAnyHost: Bool
    /// Service, host, port and database: the same for whoever comes there, and however.
    package let target: [String]

    /// - Throws: `PostgreSQLAddressError`.
    public init(_ text: String) throws(PostgreSQLAddressError) {
        guard text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") else {
            throw PostgreSQLAddressError("an address of PostgreSQL begins with postgresql://")
        }
        let options = try Self.options(of: text)
        guard options["password"] == nil, options["sslpassword"] == nil else {
            throw PostgreSQLAddressError(
                "a password does not belong into an address: put it into ~/.pgpass or a file that PGPASSFILE names, mode 0600")
        }
        description = text
        hosts = Self.hosts(of: options)
        takesAnyHost =
            hosts.count > 1 && options["service"] == nil && ["any", nil].contains(options["target_session_attrs"])
        target = Self.target(of: options)
        guard !Self.isLocal(options) else {
            self.text = text
            return
        }
        switch options["sslmode"] {
        case "verify-full": self.text = text
        case nil: self.text = text + (text.contains("?") ? "&" : "?") + "sslmode=verify-full"
        case let mode?:
            throw PostgreSQLAddressError("sslmode=\(mode) does not say who the server is: beyond this machine it is verify-full")
        }
    }

    private static func options(of text: String) throws(PostgreSQLAddressError) -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &message) else {
            // It may quote what is no address, and with it a password.
            if let message { PQfreemem(message) }
            throw PostgreSQLAddressError("this is no address of PostgreSQL: postgresql://user@host:5432/database")
        }
        defer { PQconninfoFree(options) }
        // What is not said, libpq takes from its variables.
        let variables = [
            "host": "PGHOST", "hostaddr": "PGHOSTADDR", "service": "PGSERVICE", "sslmode": "PGSSLMODE",
            "target_session_attrs": "PGTARGETSESSIONATTRS",
        ]
        var found = variables.compactMapValues { getenv($0).map { String(cString: $0) } }
        var option = options
        while let name = option.pointee.keyword {
            if let value = option.pointee.val { found[String(cString: name)] = String(cString: value) }
            option += 1
        }
        return found
    }

    /// As libpq pairs them: https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS
    private static func hosts(of options: [String: String]) -> [[String: String]] {
        let lists = ["host", "hostaddr", "port"].map { name in
            (name, (options[name] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init))
        }
        let count = max(lists[0].1.count, lists[1].1.count)
        // Of a single host, a service may say more than a variable.
        guard count > 1 || options["service"] == nil else { return [[:]] }
        return (0..<count).map { number in
            var host: [String: String] = [:]
            // One port is that of all; lists of other lengths are left to libpq, which refuses them.
            for (name, values) in lists where options[name] != nil {
                host[name] = values.count == 1 ? values[0] : values.count == count ? values[number] : options[name]
            }
            return host
        }
    }

    /// What is not said, as libpq would have it. A database has the name of the user then.
    private static func target(of options: [String: String]) -> [String] {
        func value(_ name: String, _ variable: String) -> String? {
            let value = options[name] ?? getenv(variable).map { String(cString: $0) } ?? ""
            return value.isEmpty ? nil : value
        }
        let host = value("host", "PGHOST") ?? value("hostaddr", "PGHOSTADDR") ?? ""
        let database = value("dbname", "PGDATABASE") ?? value("user", "PGUSER") ?? ""
        let isFolder = host.hasPrefix("/")
        return [
            value("service", "PGSERVICE") ?? "", isFolder ? host : host.lowercased(), value("port", "PGPORT") ?? "5432", database,
        ]
    }

    /// A socket in a folder, or an address of this machine: of every host, by its name and by its number. A service may lead anywhere.
    private static func isLocal(_ options: [String: String]) -> Bool {
        guard options["service"] == nil else { return false }
        let hosts = [options["hostaddr"], options["host"]].flatMap { ($0 ?? "").split(separator: ",") }
        return hosts.allSatisfy { ["localhost", "127.0.0.1", "::1"].contains($0) || $0.hasPrefix("/") || $0.hasPrefix("@") }
    }
}

/// Why a text is no address, in one sentence for a person. It repeats nothing of it.
public struct PostgreSQLAddressError: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    package init(_ description: String) {
        self.description = description
    }
}
