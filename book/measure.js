// What is asked of a built page, in the browser: `(this).layout()` and so on, by measure.py.
({
  // Length, first screen, tables, code, pictures.
  layout() {
    const article = document.querySelector("main article") ?? document.body;
    const seen = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true}) && e.getClientRects().length > 0;
    const bottom = e => e.getBoundingClientRect().bottom + scrollY, top = e => e.getBoundingClientRect().top + scrollY;
    const shown = selector => [...article.querySelectorAll(selector)].filter(seen);

    let words = shown("mjx-container").length;
    const walk = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const parent = walk.currentNode.parentElement, text = walk.currentNode.data.trim();
      if (text && !parent.closest("script, style, mjx-container") && seen(parent)) words += text.split(/\s+/).length;
    }

    // The first screen: title, a question, the answer, a figure; no code, list or run time before the figure's end.
    const title = article.querySelector("h1"), answer = shown(".cycle-answer")[0];
    const figure = shown("svg.cycle-svg, .cycle-explore, article img").find(e => bottom(e) - top(e) > 60);
    const first = [];
    const end = figure ? bottom(figure) : Infinity;
    if (!title || bottom(title) > 1000) first.push("no title");
    if (!shown("p").some(p => p.textContent.includes("?") && answer && bottom(p) <= top(answer))) first.push("no question");
    if (!answer || bottom(answer) > 1000) first.push("no answer");
    if (answer && !/\d/.test(answer.textContent)) first.push("an answer without a number");
    if (end > 1000) first.push(figure ? "the figure ends at " + Math.round(end) : "no figure");
    const before = (selector, what) => shown(selector).some(e => top(e) < Math.min(end, 1000)) && first.push(what);
    before("div.highlight", "code");
    before("section ul:not(.cycle-legend)", "a list");
    if (shown("p, pre").some(e => top(e) < end && /needs: \d|[Rr]uns in (about )?\S+ (s|second)/.test(e.textContent))) first.push("a run time");

    const box = table => table.closest(".cycle-table, .pst-scrollable-table-container, .output") ?? table.parentElement;
    const tables = shown("table").filter(t => !t.closest("details, .highlight"));
    const rows = t => t.querySelectorAll("tbody tr").length, columns = t => t.rows[0]?.cells.length ?? 0;
    const code = shown("div.cell_input pre, div.output div.highlight-python pre, div.output div.highlight pre")
      .filter(e => !e.closest("details, .traceback")).map(e => e.textContent.trimEnd().split("\n"));
    const pictures = [...document.images].filter(m => !m.alt.trim())
      .concat([...document.querySelectorAll("svg.cycle-svg, .cycle-panels svg")].filter(m => !m.getAttribute("aria-label")));
    return {
      words, height: document.documentElement.scrollHeight, first,
      tables: tables.length,
      columns: Math.max(0, ...tables.map(columns)), rows: Math.max(0, ...tables.map(rows)),
      hidden: tables.filter(t => box(t).scrollWidth > box(t).clientWidth + 1).length,
      "code lines": Math.max(0, ...code.map(lines => lines.length)),
      "code width": Math.max(0, ...code.map(lines => Math.max(...lines.map(line => line.length)))),
      imports: code.filter(lines => lines.filter(line => /^(import|from) /.test(line)).length > 1).length,
      controls: document.querySelectorAll(".cycle-explore").length,
      nameless: pictures.length,
    };
  },

  // WCAG 2.1, 1.4.3: texts whose contrast with what lies behind them is below 4.5 (3 for large ones), also in drawings.
  contrast() {
    const parse = text => { const v = text.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0]; return {rgb: v.slice(0, 3), a: v[3] ?? 1}; };
    const over = (top, under) => top.rgb.map((c, i) => c * top.a + under[i] * (1 - top.a));
    const luminance = rgb => rgb.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const known = new Map();  // of an element: what lies behind its text, and how opaque it is
    const behindOf = e => {
      if (!e) return [[255, 255, 255], 1];
      if (!known.has(e)) {
        const [under, opacity] = behindOf(e.parentElement), style = getComputedStyle(e);
        known.set(e, [over(parse(style.backgroundColor), under), opacity * Number(style.opacity)]);
      }
      return known.get(e);
    };
    // In a drawing: the shapes that were filled before it, where the middle of the text is.
    const written = (text, drawing, page) => {
      const box = text.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
      let under = page;
      for (const shape of drawing.querySelectorAll("path, rect, circle, polygon, use")) {
        if (shape.closest("defs, clipPath") || !(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
        const style = getComputedStyle(shape), around = shape.getBoundingClientRect();
        if (style.fill == "none" || x < around.left || x > around.right || y < around.top || y > around.bottom) continue;
        const here = shape.isPointInFill && new DOMPoint(x, y).matrixTransform(shape.getScreenCTM().inverse());
        if (here && !shape.isPointInFill(here)) continue;
        const tint = parse(style.fill);
        under = over({rgb: tint.rgb, a: tint.a * Number(style.fillOpacity) * Number(style.opacity)}, under);
      }
      return under;
    };
    const found = {};
    const elements = [...document.querySelectorAll("body *")].filter(e =>
      [...e.childNodes].some(n => n.nodeType == Node.TEXT_NODE && n.data.trim()));
    for (const element of elements) {
      const drawing = element.closest("svg");
      if (element.closest("script, style, noscript, mjx-container, mjx-assistive-mml") || (drawing && element.closest("title"))) continue;
      if (!element.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
      const style = getComputedStyle(element), size = parseFloat(style.fontSize);
      const [page] = behindOf(drawing ?? element), behind = drawing ? written(element, drawing, page) : page, [, opacity] = behindOf(element), colour = parse(drawing ? style.fill : style.color);
      const front = over({rgb: colour.rgb, a: colour.a * opacity}, behind);
      const [dark, light] = [luminance(front), luminance(behind)].sort((x, y) => x - y);
      const contrast = (light + 0.05) / (dark + 0.05);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (contrast < (large ? 3 : 4.5)) {
        const key = element.tagName + "." + element.className + " " + (drawing ? style.fill : style.color) + " on " + behind.map(Math.round);
        found[key] ??= contrast.toFixed(2) + " " + element.textContent.trim().slice(0, 40);
      }
    }
    return found;
  },

  // What sticks out of the window or of a box that neither wraps nor scrolls.
  cut() {
      const scrolls = e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
      const found = [];
      if (document.documentElement.scrollWidth > innerWidth) found.push('page ' + document.documentElement.scrollWidth);
      for (const e of document.querySelectorAll('main article *, main article pre')) {
          const box = e.getBoundingClientRect();
          if (!box.width || !e.checkVisibility() || e.closest('svg, mjx-assistive-mml')) continue;
          let around = e.parentElement;
          while (around && !scrolls(around)) around = around.parentElement;
          const held = around && around.closest('article');
          if (box.right > innerWidth + 1 && !held) found.push(e.outerHTML.slice(0, 150));
          const cut = e.tagName == 'PRE' && e.scrollWidth > e.clientWidth + 1 && !scrolls(e);
          if (cut) found.push(e.textContent.slice(0, 150));
      }
      return found;
  },

  // Mathematics that was not typeset.
  maths() {
    const failed = [...document.querySelectorAll(".math")]
      .filter(m => !m.querySelector("mjx-container") || m.querySelector("[data-mml-node=merror]"))
      .map(m => m.textContent.slice(0, 80));
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const node = walk.currentNode;
      if (/\$\$|\\\(|\\\[|\\begin\{/.test(node.data) && !node.parentElement.closest("pre, code, script, style"))
        failed.push(node.data.slice(0, 80));
    }
    return failed;
  },

  // Where the links into the book lead.
  links() {
    return [...document.querySelectorAll("main article a[href]")].map(a => a.href).filter(href => href.startsWith("file:"));
  },

  ids() {
    return [...document.querySelectorAll("[id]")].map(e => e.id);
  },
})
