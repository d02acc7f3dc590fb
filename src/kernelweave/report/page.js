"use strict";
document.documentElement.classList.add("js");
const SVG = "http://www.w3.org/2000/svg";
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (name, attributes = {}) => {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const areaOf = (plot) => plot.dataset.area.split(" ").map(Number);
const say = (value, digits = 3) => {
  if (value === 0) return "0";
  if (Math.abs(value) >= 1e-4 && Math.abs(value) < 1e6) return String(Number(value.toPrecision(digits))).replace("-", "−");
  const [mantissa, power] = value.toExponential(digits - 1).split("e"), short = String(Number(mantissa)).replace("-", "−");
  const raised = [...String(Number(power))].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
  return (short === "1" ? "10" : `${short}·10`) + raised;
};

// Tips: a mark tells its values when it is pointed at; of a curve, the nearest point does.
const tip = document.getElementById("tip");
const showTip = (text, x, y) => {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18) + "px";
};
const points = new WeakMap();
const pointsOf = (path) => {
  if (!points.has(path)) {
    const found = [...path.getAttribute("d").matchAll(/[ML]([-\d.]+) ([-\d.]+)/g)].map((m) => [+m[1], +m[2]]);
    points.set(path, { found, values: JSON.parse(path.dataset.values) });
  }
  return points.get(path);
};
const nearest = (plot, event) => {
  let best = null;
  for (const path of all("path[data-values]", plot)) {
    const place = path.getScreenCTM(), { found, values } = pointsOf(path);
    found.forEach(([x, y], i) => {
      const at = new DOMPoint(x, y).matrixTransform(place);
      const far = Math.hypot(at.x - event.clientX, at.y - event.clientY);
      if (far < 28 && (!best || far < best.far)) best = { far, path, x, y, values: values[i] };
    });
  }
  return best;
};
const leadOf = (mark) => (mark.dataset.lead ? mark.dataset.lead + "\n" : "");
const fill = (text, values) => text.replace(/\{(\d)\}/g, (_, i) => values[i]);
const fieldTip = (mark, event) => {
  if (!points.has(mark)) points.set(mark, JSON.parse(mark.dataset.fields));
  const { shown, columns, rows, tip } = points.get(mark), [left, top, width, height] = areaOf(mark.closest("svg.plot"));
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(mark.getScreenCTM().inverse());
  const within = (share, n) => Math.max(0, Math.min(n - 1, Math.floor(share * n)));
  const i = within(1 - (at.y - top) / height, rows.length), j = within((at.x - left) / width, columns.length);
  return fill(tip, [rows[i], columns[j], shown[i][j]]);
};
const hideTip = () => {
  tip.hidden = true;
  all(".ring").forEach((ring) => ring.remove());
};
document.addEventListener("pointermove", (event) => {
  hideTip();
  const mark = event.target.closest?.("[data-tip]:not([data-values])");
  if (mark) return showTip(mark.dataset.tip, event.clientX, event.clientY);
  const plot = event.target.closest?.("svg.clip"), fields = plot?.querySelector("[data-fields]");
  if (fields) return showTip(fieldTip(fields, event), event.clientX, event.clientY);
  const found = plot && nearest(plot, event);
  if (!found) return;
  plot.append(make("path", { d: `M${found.x} ${found.y}h0`, class: "ring" }));
  showTip(leadOf(found.path) + fill(found.path.dataset.tip, found.values), event.clientX, event.clientY);
});
document.addEventListener("pointerleave", hideTip);
document.addEventListener("scroll", hideTip, { passive: true });

// Zoom: drag over a part of a plot to see it alone, double-click to see all of it again.
const roundStep = (step) => {
  const power = 10 ** Math.floor(Math.log10(step));
  return [1, 2, 5, 10].find((m) => m * power >= 0.8 * step) * power;
};
const ticks = (low, high, log, whole) => {
  let step = roundStep((high - low) / 5);
  if (whole) step = Math.max(1, Math.round(step));
  const marks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) marks.push(k * step);
  return marks.map((mark) => [mark, log ? say(10 ** mark) : say(Math.abs(mark) < step / 1e6 ? 0 : mark, 5)]);
};
for (const plot of all("svg.zoom")) {
  const clip = plot.querySelector("svg.clip"), marks = plot.querySelector(".ticks"), drawn = marks.innerHTML;
  const [left, top, width, height] = areaOf(plot);
  const axes = [JSON.parse(plot.dataset.x), JSON.parse(plot.dataset.y)];
  let from = null, choice = null;
  const see = (x, y, w, h) => {
    clip.setAttribute("viewBox", `${x} ${y} ${w} ${h}`);
    if (w === width && h === height) return void (marks.innerHTML = drawn);
    marks.replaceChildren();
    const value = ([low, high], share) => low + (high - low) * share;
    const ends = [
      [value(axes[0], (x - left) / width), value(axes[0], (x + w - left) / width)],
      [value(axes[1], 1 - (y + h - top) / height), value(axes[1], 1 - (y - top) / height)],
    ];
    ends.forEach(([low, high], vertical) => {
      for (const [mark, label] of ticks(low, high, axes[vertical][2], axes[vertical][3])) {
        const share = (mark - low) / (high - low), across = left + width * share, down = top + height * (1 - share);
        const line = vertical ? { x1: left, x2: left + width, y1: down, y2: down } : { x1: across, x2: across, y1: top, y2: top + height };
        const place = vertical ? { x: left - 6, y: down + 4, class: "ty" } : { x: across, y: top + height + 15, class: "tx" };
        const text = make("text", place);
        text.textContent = label;
        marks.append(make("line", line), text);
      }
    });
  };
  const at = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(clip.getScreenCTM().inverse());
  const corners = (event) => {
    const to = at(event);
    return [Math.min(from.x, to.x), Math.min(from.y, to.y), Math.abs(from.x - to.x), Math.abs(from.y - to.y)];
  };
  clip.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button) return;
    event.preventDefault();
    clip.setPointerCapture(event.pointerId);
    from = at(event);
    clip.append((choice = make("rect", { class: "choice" })));
  });
  clip.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [x, y, w, h] = corners(event);
    for (const [key, value] of Object.entries({ x, y, width: w, height: h })) choice.setAttribute(key, value);
  });
  const done = (event) => {
    if (!from) return;
    const [x, y, w, h] = corners(event), [, , nowWidth, nowHeight] = clip.getAttribute("viewBox").split(" ").map(Number);
    choice.remove();
    from = null;
    if (event.type === "pointerup" && w > nowWidth * 0.02 && h > nowHeight * 0.02) see(x, y, w, h);
  };
  clip.addEventListener("pointerup", done);
  clip.addEventListener("pointercancel", done);
  clip.addEventListener("dblclick", () => see(left, top, width, height));
}

// Tables: sort by a column, fold long ones, look for a row.
for (const table of all("table.sortable")) {
  const body = table.tBodies[0], rows = [...body.rows], fold = Number(table.dataset.fold || 0);
  let open = !fold, wanted = "";
  const show = () => {
    let shown = 0;
    for (const row of body.rows) {
      const fits = !wanted || [...row.cells].some((cell) => cell.textContent.toLowerCase().includes(wanted));
      row.hidden = !fits || (!open && !wanted && shown >= fold);
      shown += !row.hidden;
    }
  };
  const key = (row, column) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
  all("thead th", table).forEach((head, column) => {
    if (!head.textContent || rows.length < 4) return;
    const button = document.createElement("button"), numeric = head.classList.contains("num");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.ariaSort ? head.ariaSort === "ascending" : numeric, sign = down ? -1 : 1;
      all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
      head.ariaSort = down ? "descending" : "ascending";
      const order = numeric ? (a, b) => a - b : (a, b) => a.localeCompare(b, "en", { numeric: true });
      rows.sort((a, b) => sign * order(key(a, column), key(b, column)));
      body.append(...rows);
      show();
    });
  });
  if (!fold) continue;
  const tools = document.createElement("div"), field = document.createElement("input"), more = document.createElement("button");
  tools.className = "tools";
  field.type = "search";
  field.placeholder = "find";
  field.ariaLabel = "find in the table";
  more.type = "button";
  const label = () => (more.textContent = open ? `show the first ${fold}` : `show all ${rows.length}`);
  field.addEventListener("input", () => ((wanted = field.value.trim().toLowerCase()), show()));
  more.addEventListener("click", () => ((open = !open), label(), show()));
  label();
  tools.append(field, more);
  table.parentElement.before(tools);
  show();
}

// The threshold: one slider for the counts, their rates, and marks in the plots.
const percent = (value) => (Number.isFinite(value) ? (100 * value).toFixed(2) + "\u202f%" : "–");
const grouped = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
for (const panel of all(".cutting")) {
  const { thresholds, sets } = JSON.parse(panel.dataset.cuts), slider = panel.querySelector("input");
  const mark = (selector, series, x, y) => {
    const plot = panel.querySelector(selector + " svg.plot"), clip = plot.querySelector("svg.clip");
    const [left, top, width, height] = areaOf(plot), [x0, x1] = JSON.parse(plot.dataset.x), [y0, y1] = JSON.parse(plot.dataset.y);
    let found = clip.querySelector(`.marker.${series}`);
    if (!found) clip.append((found = make("path", { class: `marker ${series}` })));
    found.setAttribute("d", `M${left + (width * (x - x0)) / (x1 - x0)} ${top + height * (1 - (y - y0) / (y1 - y0))}h0`);
  };
  const line = (threshold) => {
    const plot = panel.querySelector(".histogram svg.plot"), clip = plot.querySelector("svg.clip");
    const [left, top, width, height] = areaOf(plot), [low, high] = JSON.parse(plot.dataset.x);
    const x = left + (width * (threshold - low)) / (high - low);
    clip.querySelector(".cutline")?.remove();
    clip.append(make("line", { x1: x, x2: x, y1: top, y2: top + height, class: "cutline" }));
  };
  const move = () => {
    const at = Number(slider.value);
    panel.querySelector("output").textContent = say(thresholds[at]);
    slider.ariaValueText = say(thresholds[at]);
    sets.forEach(({ series, counts }, i) => {
      const [tp, fp, fn, tn] = counts[at], shown = panel.querySelector(`[data-set="${i}"]`);
      all("[data-count]", shown).forEach((one) => (one.textContent = grouped(counts[at][one.dataset.count])));
      const rates = {
        accuracy: (tp + tn) / (tp + fp + fn + tn), precision: tp / (tp + fp), recall: tp / (tp + fn), specificity: tn / (tn + fp),
        F1: (2 * tp) / (2 * tp + fp + fn),
      };
      all("[data-figure]", shown).forEach((one) => (one.textContent = percent(rates[one.dataset.figure])));
      mark(".roc", series, fp / (fp + tn || 1), tp / (tp + fn || 1));
      mark(".pr", series, tp / (tp + fn || 1), tp + fp ? tp / (tp + fp) : 1);
    });
    line(thresholds[at]);
  };
  slider.addEventListener("input", move);
  all("button[data-to]", panel).forEach((button) => button.addEventListener("click", () => ((slider.value = button.dataset.to), move())));
  move();
}

// On paper nothing can be opened, so it is open.
addEventListener("beforeprint", () => all("details:not([open])").forEach((part) => part.toggleAttribute("data-shut", (part.open = true))));
addEventListener("afterprint", () => all("[data-shut]").forEach((part) => part.toggleAttribute("data-shut", (part.open = false))));
