/// How the page looks: a column of cards, on light or dark as the reader's system has it.
let pageStyle = """

    :root { --ground: #f5f6f8; --card: #fff; --ink: #1a1d23; --faint: #667085; --rule: #e4e7ec; --good: #067647; --goodground: #d9f5e5;
      --bad: #b42318; --badground: #fee4e2; --c0: #2563eb; --c1: #d97706; --c2: #059669; --c3: #db2777; --c4: #7c3aed; --c5: #0891b2;
      --c6: #65a30d; --c7: #78716c; }
    @media (prefers-color-scheme: dark) {
      :root { --ground: #101318; --card: #191d24; --ink: #e7eaf0; --faint: #98a2b3; --rule: #2b313b; --good: #6ce9a6; --goodground: #0d3a26;
        --bad: #fda29b; --badground: #4a1410; --c0: #6ea8fe; --c1: #f5b041; --c2: #34d399; --c3: #f472b6; --c4: #b39dfb; --c5: #22d3ee;
        --c6: #a3e635; --c7: #a8a29e; }
    }
    * { box-sizing: border-box; }
    body { margin: 0 auto; padding: 28px 20px 40px; max-width: 1180px; background: var(--ground); color: var(--ink);
      font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
    header { display: flex; gap: 20px; justify-content: space-between; align-items: flex-start; margin-bottom: 18px; }
    h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -.01em; }
    h2 { font-size: 15px; margin: 0 0 8px; }
    p { margin: 0; }
    .sub { color: var(--faint); font-size: 13px; }
    .badge { font-weight: 600; border-radius: 999px; padding: 6px 16px; white-space: nowrap; }
    .badge.good { background: var(--goodground); color: var(--good); }
    .badge.bad { background: var(--badground); color: var(--bad); }
    .card { background: var(--card); border: 1px solid var(--rule); border-radius: 12px; padding: 14px 18px; margin: 0 0 14px; }
    .card.bad { background: var(--badground); color: var(--bad); }
    .cards { display: grid; gap: 14px; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); margin-bottom: 14px; }
    .cards .card { margin: 0; padding: 12px 16px; }
    .label { font-size: 12px; color: var(--faint); white-space: nowrap; }
    .value { font-size: 25px; font-weight: 650; line-height: 1.3; font-variant-numeric: tabular-nums; white-space: nowrap; }
    .card.bad .label, .card.bad .sub { color: inherit; }
    .charts, .columns { display: grid; gap: 14px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr));
      margin-bottom: 14px; }
    .charts > *, .columns > * { margin: 0; min-width: 0; }
    .charts > :first-child { grid-column: 1 / -1; }
    figcaption { display: flex; flex-wrap: wrap; gap: 2px 12px; align-items: baseline; margin-bottom: 6px; }
    .legend { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 13px; margin-left: auto; }
    .key { white-space: nowrap; }
    .swatch { display: inline-block; width: 16px; height: 3px; border-radius: 2px; margin-right: 6px; vertical-align: middle; }
    .swatch.dashed { background: repeating-linear-gradient(90deg, var(--faint) 0 5px, transparent 5px 8px); }
    .kill, .cross { color: var(--bad); fill: var(--bad); font-style: normal; font-size: 12px; font-weight: 700; }
    .kill { margin-right: 6px; }
    svg { display: block; width: 100%; height: auto; }
    .grid { stroke: var(--rule); stroke-width: 1; }
    .tick { fill: var(--faint); font-size: 12px; font-variant-numeric: tabular-nums; }
    .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
    .line.dashed { stroke: var(--faint); stroke-width: 1.5; stroke-dasharray: 5 4; }
    .area { opacity: .13; }
    .hit { opacity: 0; }
    .mark { stroke: var(--bad); stroke-width: 1; stroke-dasharray: 2 3; opacity: .7; }
    .wide { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
    th, td { text-align: right; padding: 5px 10px; border-top: 1px solid var(--rule); white-space: nowrap; }
    th { border-top: 0; color: var(--faint); font-weight: 500; font-size: 13px; }
    th:first-child, td:first-child { text-align: left; padding-left: 0; }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px; margin: 0; }
    dt { color: var(--faint); }
    dd { margin: 0; overflow-wrap: anywhere; }
    ul { margin: 0; padding-left: 18px; }
    footer { color: var(--faint); font-size: 13px; margin-top: 20px; }
    \((0..<8).map { ".s\($0) { stroke: var(--c\($0)); } .f\($0) { fill: var(--c\($0)); } .b\($0) { background: var(--c\($0)); }" }
        .joined(separator: "\n"))

    """
