// Input of the user: sliders, painting, keys.
import { View } from "./canvas.js";
import { SCENES, rounded, sampled, statedModel } from "./scenes.js";
import { change, findAll, repaint, say, session } from "./session.js";
import { heightOf } from "./painting.js";
import { shifted, stretched, sumsOf } from "./sums.js";

const MOST_POINTS = 2000;
const MOST_UNDONE = 50;
const ERASE = -1; // ERASE and MOMENTS are brushes that paint no class
const MOMENTS = -2;

// ---- controls: an element shows and changes the part of the state that its data-key names

/** Show the value of a control. */
export function display(control) {
  const isBeingTyped = control === document.activeElement && control.type === "number";
  const value = shownValue(control.dataset.key);
  if (value === undefined || isBeingTyped) {
    return;
  }
  if (control.type === "checkbox") {
    control.checked = value;
  } else {
    control.value = control.dataset.scale === "log" ? Math.log10(value) : value;
  }
  const output = control.parentNode.querySelector("output");
  if (output) {
    output.textContent = outputText(control.dataset.key, value);
  }
}

/** Return the part of the state that a path such as "priors.0" names; undefined if none. */
function shownValue(path) {
  const { state, fit } = session;
  const [key, k] = path.split(".");
  if (key === "priors" && !state.stated) {
    const fitted = fit.model?.priors?.[fit.present.indexOf(Number(k))];
    return fitted || state.priors[k];
  }
  return path.split(".").reduce((part, name) => part?.[name], state);
}

function outputText(path, value) {
  if (path === "temperature") {
    const base = Math.exp(1 / value);
    return `T = ${rounded(value)}, base ${base < 1e6 ? rounded(base) : "> 10⁶"}`;
  }
  if (path === "reject") {
    return value < 1 ? value : "off";
  }
  return rounded(Number(value));
}

/** Set the part of the state that a control shows to the value of the control. */
export function readControl(control) {
  const { state } = session;
  const value = controlValue(control);
  if (Number.isNaN(value)) {
    return;
  }
  const path = control.dataset.key.split(".");
  if (path[0] === "priors" && !state.stated) {
    startFromFittedPriors();
  }
  const last = path.pop();
  const part = path.reduce((parent, name) => parent[name], state);
  part[last] = value;
  if (last === "n") {
    drawSample(state.seed);
  } else {
    change({});
  }
}

/** Return the value of a control; NaN if a number is not complete. */
function controlValue(control) {
  if (control.type === "checkbox") {
    return control.checked;
  }
  if (control.tagName === "SELECT") {
    return control.value;
  }
  if (control.value === "") {
    return Number.NaN;
  }
  const number = Number(control.value);
  return control.dataset.scale === "log" ? 10 ** number : number;
}

function startFromFittedPriors() {
  const { state, fit } = session;
  fit.present.forEach((k, i) => {
    state.priors[k] = fit.model?.priors?.[i] ?? state.priors[k];
  });
  state.stated = true;
}

// ---- points

export function rememberPoints() {
  session.past.push(session.state.points);
  session.past = session.past.slice(-MOST_UNDONE);
}

/** Set other points, which are no longer a sample of the model that the scene states. */
export function setPoints(points) {
  session.truth = null;
  change({ points, painted: true });
}

/** Draw new points from the model that the scene states, or else from the fitted model. */
export function drawSample(seed) {
  const { state, fit } = session;
  const truth = state.painted ? null : SCENES[session.scene].truth;
  if (!truth && !fit.model?.isDensity) {
    say("There is no density to draw from: choose a generative model.");
    return;
  }
  rememberPoints();
  session.chosen = null;
  session.hovered = null;
  let points;
  if (truth) {
    points = sampled(statedModel(truth), state.n, seed);
  } else {
    const sample = sampled(fit.model, state.n, seed);
    points = sample.map(([x, y, k]) => [x, y, fit.present[k]]);
  }
  change({ points, seed });
}

function pointAt(x, y, k) {
  return [rounded(x), session.state.dimension === 1 ? 0 : rounded(y), k];
}

function addPoint(x, y) {
  const { points } = session.state;
  if (points.length < MOST_POINTS) {
    setPoints([...points, pointAt(x, y, session.brush)]);
  }
}

function removePoint(point) {
  session.hovered = null;
  if (!point) {
    return;
  }
  if (session.chosen === point) {
    session.chosen = null;
  }
  setPoints(session.state.points.filter((other) => other !== point));
}

function movePoint(point, x, y) {
  const moved = pointAt(x, y, point[2]);
  const points = session.state.points.map((other) => (other === point ? moved : other));
  session.chosen = moved;
  setPoints(points);
  return moved;
}

/** Return the nearest point within reach of a pixel, or null; without `py`, at any height. */
function nearestPoint(view, px, py, reach) {
  let nearest = null;
  let least = reach;
  for (const point of session.state.points) {
    const dx = view.px(point[0]) - px;
    const dy = py === null ? 0 : heightOf(view, point) - py;
    const distance = Math.hypot(dx, dy);
    if (distance < least) {
      nearest = point;
      least = distance;
    }
  }
  return nearest;
}

// ---- the pointer

/** What the pressed pointer does; null if it is not pressed. */
let gesture = null; // { action: "paint" | "erase" | "move", point, px, py }

/** Handle the pointer: paint on empty ground, move or choose a point, or erase. */
export function handlePointer(event) {
  const place = pointerPlace(event);
  session.cursor = event.type === "pointerleave" ? null : [place.x, place.y];
  if (event.type === "pointerdown") {
    startGesture(event, place);
  }
  if (gesture) {
    continueGesture(place);
  } else if (event.type === "pointermove") {
    session.hovered = place.point;
  }
  if (["pointerup", "pointercancel", "pointerleave"].includes(event.type)) {
    gesture = null;
    session.hovered = null;
  }
  repaint();
}

/** Return the place of the pointer, in pixels and coordinates, and the point under the pointer. */
function pointerPlace(event) {
  const view = new View(event.target, session.state.window);
  const box = event.target.getBoundingClientRect();
  const px = event.clientX - box.left;
  const py = event.clientY - box.top;
  const reach = event.pointerType === "touch" ? 18 : 11;
  const point = nearestPoint(view, px, py, reach);
  return { px, py, x: view.x(px), y: view.y(py), point };
}

function startGesture(event, { px, py, x, y, point }) {
  event.target.setPointerCapture(event.pointerId);
  rememberPoints();
  session.chosen = null;
  if (session.brush === MOMENTS) {
    gesture = momentsGesture(px, py, x, y);
    return;
  }
  const erases = session.brush === ERASE || event.button === 2;
  if (erases) {
    gesture = { action: "erase", px, py };
  } else if (point) {
    gesture = { action: "move", point, px, py };
    session.chosen = point;
  } else {
    gesture = { action: "paint", px, py };
    addPoint(x, y);
  }
}

const MEAN_REACH = 26; // a drag that begins within this number of pixels moves the mean

/** Return a drag that moves the mean, or stretches the ellipse, of the nearest class. */
function momentsGesture(px, py, x, y) {
  const { fit, state } = session;
  if (fit.K === 0) {
    return null;
  }
  const view = new View(document.querySelector("#plane"), state.window);
  const { means } = sumsOf(fit);
  const centres = means.map(([mx, my]) => [mx, my ?? y]);
  const distances = centres.map(([mx, my]) => Math.hypot(view.px(mx) - px, view.py(my) - py));
  const nearest = distances.indexOf(Math.min(...distances));
  const action = distances[nearest] < MEAN_REACH ? "shift" : "stretch";
  return {
    action,
    px,
    py,
    from: [x, y],
    mean: centres[nearest],
    k: fit.present[nearest],
    points: state.points,
  };
}

/** Move or stretch a class by how far the pointer is from the start of the drag. */
function dragMoments(x, y) {
  const { action, from, mean, k, points } = gesture;
  const flat = session.state.dimension === 1;
  if (action === "shift") {
    setPoints(shifted(points, k, [x - from[0], flat ? 0 : y - from[1]]));
    return;
  }
  const start = [from[0] - mean[0], flat ? 0 : from[1] - mean[1]];
  const end = [x - mean[0], flat ? 0 : y - mean[1]];
  const length = Math.hypot(...start);
  const direction = [start[0] / length, start[1] / length];
  const along = (end[0] * direction[0] + end[1] * direction[1]) / length;
  setPoints(stretched(points, k, mean, direction, Math.max(along, 0.05)));
}

function continueGesture({ px, py, x, y, point }) {
  if (gesture.action === "shift" || gesture.action === "stretch") {
    dragMoments(x, y);
    return;
  }
  const distance = Math.hypot(px - gesture.px, py - gesture.py);
  if (gesture.action === "erase") {
    removePoint(point);
  } else if (gesture.action === "paint" && distance > 16) {
    gesture.px = px;
    gesture.py = py;
    addPoint(x, y);
  } else if (gesture.action === "move" && distance > 3) {
    gesture.point = movePoint(gesture.point, x, y);
  }
}

// ---- the keyboard

const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** Handle keys: arrows move a cursor; other keys paint, choose and erase at the cursor. */
export function handleKey(event) {
  const [x0, x1, y0, y1] = session.state.window;
  const [x, y] = session.cursor || [(x0 + x1) / 2, (y0 + y1) / 2];
  session.cursor = [x, y];
  const { key } = event;
  if (key in MOVES) {
    const [right, up] = MOVES[key];
    const step = event.shiftKey ? 0.01 : 0.04;
    session.cursor = [x + right * step * (x1 - x0), y + up * step * (y1 - y0)];
    session.chosen = null; // the text under the plane follows the cursor
    session.hovered = null;
  } else if (key === " ") {
    rememberPoints();
    addPoint(x, y);
  } else if (key === "Enter") {
    session.chosen = pointAtCursor(event.target, x, y);
  } else if (key === "Delete" || key === "Backspace") {
    rememberPoints();
    removePoint(pointAtCursor(event.target, x, y));
  } else if (key >= "1" && key <= "5") {
    chooseBrush(Number(key) - 1);
  } else {
    return;
  }
  event.preventDefault();
  repaint();
}

function pointAtCursor(canvas, x, y) {
  const { state } = session;
  const view = new View(canvas, state.window);
  const py = state.dimension === 1 ? null : view.py(y);
  return nearestPoint(view, view.px(x), py, 16);
}

/** Set the brush: a class to paint, −1 to erase, or −2 to drag means and ellipses. */
export function chooseBrush(k) {
  session.brush = k;
  for (const button of findAll("[data-brush]")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.brush) === k));
  }
}
