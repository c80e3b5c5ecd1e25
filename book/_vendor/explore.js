// Figures that a reader moves: everything was computed when the book was built, this draws the chosen position.
// No library, no network. Each block: inputs, div.cycle-panels, p.cycle-says, one JSON (see reproduction/draw/explore.py).
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const colour = name => (name ? `var(--cycle-${name}, currentColor)` : "currentColor");

  function add(parent, tag, attributes, text) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  // Round numbers between low and high, about `count` of them.
  function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 2.5, 5, 10].find(factor => factor * power >= raw * 0.999);
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
      found.push([k * step, String(Number((k * step).toPrecision(6))).replace("-", "−")]);
    }
    return found;
  }

  function legend(box, marks) {
    const named = marks.filter(mark => mark.label);
    if (!named.length) return;
    const list = document.createElement("ul");
    list.className = "cycle-legend";
    for (const mark of named) {
      const item = document.createElement("li"), swatch = document.createElement("span");
      swatch.className = mark.hollow ? "cycle-hollow" : mark.mark == "line" ? "cycle-stroke" : "";
      swatch.style.setProperty("--cycle-swatch", colour(mark.colour));
      item.append(swatch, mark.label);
      list.append(item);
    }
    box.append(list);
  }

  function draw(box, panel, marks, width, label) {
    const title = document.createElement("p");
    title.className = "cycle-panel-title";
    title.textContent = panel.title;
    box.append(title);
    legend(box, marks);
    const height = panel.height, flat = marks.some(mark => mark.mark == "grid");
    const wide = panel.yticks.length ? Math.max(...panel.yticks.map(t => t[1].length)) * 7 : 34;
    const left = wide + (panel.y ? 24 : 8), right = width - 12, top = 8, bottom = height - (panel.x ? 42 : 24);
    const [x0, x1] = panel.xlim, [y0, y1] = panel.ylim;
    const X = x => left + (right - left) * (x - x0) / (x1 - x0);
    const Y = y => flat ? top + (bottom - top) * (y - y0) / (y1 - y0) : bottom - (bottom - top) * (y - y0) / (y1 - y0);
    const svg = add(box, "svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label});
    for (const [x, text] of panel.xticks.length ? panel.xticks : ticks(x0, x1, Math.max(2, (right - left) / 70))) {
      if (!flat) add(svg, "line", {x1: X(x), x2: X(x), y1: top, y2: bottom, class: "cycle-rule"});
      add(svg, "text", {x: X(x), y: bottom + 16, "text-anchor": "middle"}, text);
    }
    for (const [y, text] of panel.yticks.length ? panel.yticks : ticks(y0, y1, Math.max(2, (bottom - top) / 45))) {
      if (!flat) add(svg, "line", {x1: left, x2: right, y1: Y(y), y2: Y(y), class: "cycle-rule"});
      add(svg, "text", {x: left - 6, y: Y(y) + 4, "text-anchor": "end"}, text);
    }
    if (!flat) add(svg, "path", {d: `M${left} ${top}V${bottom}H${right}`, class: "cycle-axis"});
    if (panel.zero) add(svg, "line", {x1: left, x2: right, y1: Y(0), y2: Y(0), class: "cycle-axis"});
    if (panel.x) add(svg, "text", {x: (left + right) / 2, y: height - 6, "text-anchor": "middle"}, panel.x);
    if (panel.y) {
      const at = `translate(13 ${(top + bottom) / 2}) rotate(-90)`;
      add(svg, "text", {transform: at, "text-anchor": "middle"}, panel.y);
    }
    const clip = v => Math.min(Math.max(v, Math.min(top, bottom)), Math.max(top, bottom));
    for (const mark of marks) {
      const paint = {style: `stroke:${colour(mark.colour)};fill:${colour(mark.colour)}`};
      if (mark.mark == "line") {
        let path = "", pen = "M";
        mark.x.forEach((x, i) => {
          if (x === null || mark.y[i] === null) { pen = "M"; return; }
          path += `${pen}${X(x).toFixed(1)} ${Y(mark.y[i]).toFixed(1)}`;
          pen = "L";
        });
        const style = `stroke:${colour(mark.colour)};fill:none`;
        add(svg, "path", {d: path || "M0 0", style, "stroke-width": 2, ...(mark.dashed && {"stroke-dasharray": "6 4"})});
      } else if (mark.mark == "area") {
        const there = mark.x.map((x, i) => i).filter(i => mark.y[i] !== null && mark.toy[i] !== null);
        const at = (i, y) => `${X(mark.x[i]).toFixed(1)},${clip(Y(y[i])).toFixed(1)}`;
        const points = [...there.map(i => at(i, mark.y)), ...there.reverse().map(i => at(i, mark.toy))];
        add(svg, "polygon", {points: points.join(" "), ...paint, "stroke-width": 0});
      } else if (mark.mark == "dots") {
        const fill = mark.hollow ? "var(--cycle-ground)" : colour(mark.colour);
        const style = `stroke:${colour(mark.colour)};fill:${fill}`;
        mark.x.forEach((x, i) => x !== null && mark.y[i] !== null &&
          add(svg, "circle", {cx: X(x), cy: Y(mark.y[i]), r: 5, style, "stroke-width": 2}));
      } else if (mark.mark == "bars") {
        const base = clip(Y(Math.max(0, y0))), half = mark.width / 2;
        mark.x.forEach((x, i) => {
          if (x === null || mark.y[i] === null) return;
          const end = clip(Y(mark.y[i]));
          add(svg, "rect", {x: X(x - half), width: X(x + half) - X(x - half), y: Math.min(base, end),
            height: Math.abs(base - end), ...paint, "stroke-width": 0});
        });
      } else if (mark.mark == "arrows") {
        mark.x.forEach((x, i) => {
          const width = mark.widths.length ? mark.widths[i] : 2;
          if (!(width > 0)) return;
          const [ax, ay, bx, by] = [X(x), Y(mark.y[i]), X(mark.tox[i]), Y(mark.toy[i])];
          const angle = Math.atan2(by - ay, bx - ax), head = 7 + width;
          add(svg, "line", {x1: ax, y1: ay, x2: bx - head * Math.cos(angle), y2: by - head * Math.sin(angle), ...paint,
            "stroke-width": width});
          const corner = turn => `${bx - head * Math.cos(angle + turn)},${by - head * Math.sin(angle + turn)}`;
          add(svg, "polygon", {points: `${bx},${by} ${corner(0.4)} ${corner(-0.4)}`, ...paint, "stroke-width": 0});
        });
      } else {
        mark.z.forEach((row, i) => row.forEach((value, j) => {
          if (value === null) return;
          const cell = {x: X(j - 0.5), y: Y(i - 0.5), width: X(j + 0.5) - X(j - 0.5), height: Y(i + 0.5) - Y(i - 0.5)};
          add(svg, "rect", {...cell, ...paint, "stroke-width": 0, "fill-opacity": 0.05 + 0.6 * value});
          if (cell.width > 28) {
            add(svg, "text", {x: X(j), y: Y(i) + 4, "text-anchor": "middle", style: "fill:var(--cycle-ink)"}, value.toFixed(2));
          }
        }));
      }
    }
  }

  function start(block) {
    const data = JSON.parse(block.querySelector("script").textContent);
    const controls = [...block.querySelectorAll(".cycle-control")];
    const panels = block.querySelector(".cycle-panels"), says = block.querySelector(".cycle-says");
    const chosen = control => Number((control.querySelector("input[type=range]") ??
      control.querySelector("input:checked")).value);

    function show() {
      let state = 0;
      controls.forEach((control, n) => {
        state = state * data.texts[n].length + chosen(control);
        const range = control.querySelector("input[type=range]");
        if (range) {
          const text = data.texts[n][range.value];
          control.querySelector("output").textContent = text;
          range.setAttribute("aria-valuetext", text);
        }
      });
      const [sentence, marks] = data.states[state];
      const room = panels.clientWidth, beside = room >= 560 ? Math.min(2, data.panels.length) : 1;
      const width = Math.floor((room - 16 * (beside - 1)) / beside);
      panels.replaceChildren(...data.panels.map((panel, n) => {
        const box = document.createElement("div");
        box.style.width = width + "px";
        draw(box, panel, marks[n].map(place => data.marks[place]), width, sentence);
        return box;
      }));
      says.textContent = sentence;
    }

    block.addEventListener("input", show);
    let before = 0;
    new ResizeObserver(() => {
      if (panels.clientWidth && panels.clientWidth != before) { before = panels.clientWidth; show(); }
    }).observe(panels);
    show();
  }

  // A link to a folded place opens it.
  function unfold() {
    const place = location.hash && document.getElementById(location.hash.slice(1));
    if (place && place.tagName == "DETAILS") { place.open = true; place.scrollIntoView(); }
  }

  function all() {
    document.querySelectorAll(".cycle-explore").forEach(start);
    addEventListener("hashchange", unfold);
    unfold();
  }

  if (document.readyState == "loading") document.addEventListener("DOMContentLoaded", all);
  else all();
})();
