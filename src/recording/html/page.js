
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const clock = (ms) => {
  const s = ms / 1000;
  return Math.floor(s / 60) + ":" + (s % 60).toFixed(1).padStart(4, "0");
};

// Frames hold the rows that differ from the frame before; here each gets all of its rows.
let rows = [];
const frames = data.frames.map(([at, cols, cursor, differs, changes]) => {
  if (differs) {
    rows = rows.slice();
    for (let n = 0; n < changes.length; n += 2) rows[changes[n]] = changes[n + 1];
  } else {
    rows = changes;
  }
  return { at, cols, cursor, rows };
});

// The page.
const header = make("header", {}, make("h1", { textContent: data.title }));
if (data.failure) header.append(make("p", { className: "failure", textContent: data.failure }));
if (data.damage) header.append(make("p", { textContent: "The recording is damaged: " + data.damage }));
if (data.cut) header.append(make("p", { textContent: "The end is left out: the recording has too many frames for a page." }));
const screen = make("pre", { id: "screen", tabIndex: 0 });
const frameBox = make("div", { id: "frame" }, screen);
frameBox.style.background = data.bg;
frameBox.style.color = data.fg;
const play = make("button", { textContent: "Play", title: "space" });
const back = make("button", { textContent: "\u2039", title: "one frame back: ," });
const forward = make("button", { textContent: "\u203a", title: "one frame forward: ." });
const scrubber = make("input", { type: "range", min: 0, max: Math.max(data.duration, 1), step: "any", value: 0 });
scrubber.setAttribute("aria-label", "time");
const track = make("div", { id: "track" }, scrubber);
const time = make("span", { id: "time" });
const speed = make("select", { title: "speed" });
for (const factor of [0.25, 0.5, 1, 2, 4, 8]) {
  speed.append(make("option", { value: factor, textContent: factor + "\u00d7", selected: factor === 1 }));
}
const label = make("div", { id: "label" });
const steps = make("ol", { id: "steps" });
const player = make("section", { id: "player" }, frameBox,
  make("div", { id: "bar" }, play, back, forward, track, time, speed), label);
if (data.comparison) {
  player.append(make("details", { open: true }, make("summary", { textContent: "Expected and actual" }),
    make("pre", { className: "comparison", textContent: data.comparison })));
}
const bytes = make("pre");
const bytesBox = make("details", {}, make("summary", { textContent: "Output of this frame" }), bytes);
player.append(bytesBox);
document.body.append(header, make("main", {}, steps, player));

// Marks on the track, lines of the tape.
const place = (ms) => (data.duration ? Math.min(100, ms * 100 / data.duration) : 0) + "%";
const mark = (at, kind, title) => {
  const tick = make("i", { className: kind, title });
  tick.style.left = place(at);
  track.append(tick);
};
data.marks.forEach(([at, kind, text]) => mark(at, kind, clock(at) + " " + kind + " " + text));
const lines = data.steps.map((step) => {
  if (step.outcome !== "skipped") mark(step.at, step.outcome === "failed" ? "failed" : "step", clock(step.at) + " " + step.line);
  const line = make("li", { className: step.outcome }, make("time", { textContent: clock(step.at) }),
    make("code", { textContent: step.line }), make("small", { textContent: step.source }));
  line.addEventListener("click", () => seek(step.at));
  steps.append(line);
  return line;
});

// A row of runs, each with its style.
const wide = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const dress = (element, [fg, bg, line, names]) => {
  if (fg) element.style.color = fg;
  if (bg) element.style.background = bg;
  const decoration = [];
  let form = "";
  for (const name of names.split(" ").filter(Boolean)) {
    if (name === "strike") decoration.push("line-through");
    else if (name === "overline") decoration.push("overline");
    else if (["solid", "double", "wavy", "dotted", "dashed"].includes(name)) {
      decoration.push("underline");
      form = name;
    } else element.classList.add(name);
  }
  if (decoration.length) element.style.textDecoration = decoration.join(" ") + " " + form + " " + line;
};
const drawRow = (number) => {
  const row = make("div");
  for (const [text, style, link] of data.rows[number]) {
    const element = link ? make("a", { href: link, rel: "noopener noreferrer", target: "_blank" }) : make("span");
    dress(element, data.styles[style]);
    if (wide.test(text)) {
      for (const character of text) {
        element.append(wide.test(character) ? make("span", { className: "wide", textContent: character }) : character);
      }
    } else {
      element.textContent = text;
    }
    row.append(element);
  }
  return row;
};

let now = 0, shown = -1, shownRows = [], playing = false, last = 0;
const frameAt = (ms) => {
  let low = 0, high = frames.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (frames[middle].at <= ms) low = middle; else high = middle - 1;
  }
  return low;
};
const cursor = make("div", { id: "cursor" });
cursor.style.background = data.fg;
const draw = () => {
  const number = frameAt(now);
  if (number !== shown) {
    const frame = frames[number];
    // Rows that stay are left alone, so that a selection in them stays.
    frame.rows.forEach((row, at) => {
      if (shownRows[at] === row && screen.children[at]) return;
      const drawn = drawRow(row);
      if (screen.children[at] && screen.children[at] !== cursor) screen.children[at].replaceWith(drawn);
      else screen.insertBefore(drawn, cursor);
    });
    while (screen.children.length > frame.rows.length + 1) screen.children[frame.rows.length].remove();
    const [col, row, shape] = frame.cursor;
    cursor.hidden = !shape;
    cursor.className = shape;
    cursor.style.left = col + "ch";
    cursor.style.top = row * 18 + "px";
    screen.style.minWidth = data.size[0] + "ch";
    screen.style.minHeight = data.size[1] * 18 + "px";
    shown = number;
    shownRows = frame.rows;
    if (bytesBox.open) showBytes();
  }
  scrubber.value = now;
  time.textContent = clock(now) + " / " + clock(data.duration);
  const marks = data.marks.filter(([at, kind]) => kind !== "input" && at <= now);
  label.textContent = marks.length ? marks[marks.length - 1][2] : "";
  let current = -1;
  data.steps.forEach((step, at) => { if (step.at <= now && step.outcome !== "skipped") current = at; });
  lines.forEach((line, at) => line.classList.toggle("now", at === current));
};
screen.append(cursor);
const seek = (ms) => {
  now = Math.max(0, Math.min(data.duration, ms));
  draw();
};
const setPlaying = (on) => {
  playing = on;
  play.textContent = on ? "Pause" : "Play";
  if (on) {
    if (now >= data.duration) seek(0);
    last = performance.now();
    requestAnimationFrame(tick);
  }
};
const tick = (at) => {
  if (!playing) return;
  seek(now + Math.max(0, at - last) * speed.value);
  last = at;
  if (now >= data.duration) setPlaying(false);
  else requestAnimationFrame(tick);
};
const step = (by) => {
  setPlaying(false);
  seek(frames[Math.max(0, Math.min(frames.length - 1, frameAt(now) + by))].at);
};
const jump = (by) => {
  const stops = data.marks.filter(([, kind]) => kind === "marker").map(([at]) => at).concat(data.steps.map((s) => s.at));
  stops.sort((a, b) => a - b);
  const found = by > 0 ? stops.find((at) => at > now + 1) : stops.reverse().find((at) => at < now - 1);
  if (found !== undefined) seek(found);
};

// What the program wrote since the frame before: only for recordings of versions 2 and 3.
let outputs;
const readOutputs = () => {
  const binary = atob(document.getElementById("cast").textContent);
  const text = new TextDecoder().decode(Uint8Array.from(binary, (c) => c.charCodeAt(0)));
  let at = 0, relative = true;
  outputs = [];
  for (const line of text.split("\n")) {
    if (!line || line.startsWith("#")) continue;
    let value;
    try { value = JSON.parse(line); } catch { break; }
    if (!Array.isArray(value)) { relative = value.version === 3; continue; }
    at = relative ? at + value[0] * 1000 : value[0] * 1000;
    if (value[1] === "o") outputs.push([at, value[2]]);
  }
};
const showBytes = () => {
  if (!outputs) readOutputs();
  const from = shown > 0 ? frames[shown - 1].at : -1;
  const part = outputs.filter(([at]) => at > from && at <= frames[shown].at).map(([, text]) => text).join("");
  bytes.textContent = JSON.stringify(part).slice(1, -1).replace(/\\u001b/g, "\\e").replace(/\\"/g, '"').slice(0, 100000);
};
bytesBox.addEventListener("toggle", () => { if (bytesBox.open) showBytes(); });

play.addEventListener("click", () => setPlaying(!playing));
back.addEventListener("click", () => step(-1));
forward.addEventListener("click", () => step(1));
scrubber.addEventListener("input", () => seek(Number(scrubber.value)));
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target === speed) return;
  if (event.target.tagName === "BUTTON" && event.key === " ") return;
  const keys = {
    " ": () => setPlaying(!playing), ".": () => step(1), ",": () => step(-1),
    ArrowRight: () => seek(now + (event.shiftKey ? 30000 : 5000)), ArrowLeft: () => seek(now - (event.shiftKey ? 30000 : 5000)),
    "]": () => jump(1), "[": () => jump(-1), Home: () => seek(0), End: () => seek(data.duration),
  };
  const act = /^[0-9]$/.test(event.key) ? () => seek(data.duration * event.key / 10) : keys[event.key];
  if (act) { event.preventDefault(); act(); }
});
const failed = data.steps.find((one) => one.outcome === "failed");
const asked = /^#t=([0-9.]+)$/.exec(location.hash);
seek(asked ? asked[1] * 1000 : failed ? data.duration : 0);
