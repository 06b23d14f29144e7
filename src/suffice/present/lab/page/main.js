// Actions of buttons, requests to Python, and the start of the page.
import { range } from "./linalg.js";
import { contributions } from "./models.js";
import { View } from "./canvas.js";
import { raster } from "./drawing.js";
import { SCENES, START, rounded } from "./scenes.js";
import { RemoteModel, pointsToPredict, post } from "./server.js";
import {
  change,
  find,
  findAll,
  onChange,
  openAddress,
  openScene,
  pointsOfLink,
  remember,
  repaint,
  restartDescent,
  say,
  session,
  setModel,
} from "./session.js";
import { normalArrow, paint, threeLines } from "./painting.js";
import { describe, equations, errors, leaveOneOut, tableRow } from "./description.js";
import { pointsOfSameSums, sumsOf } from "./sums.js";
import { modelText, momentsText, pythonText } from "./takeaway.js";
import { answer, score, showQuestion } from "./quiz.js";
import {
  chooseBrush,
  display,
  drawSample,
  handleKey,
  handlePointer,
  readControl,
  rememberPoints,
  setPoints,
} from "./controls.js";

// ---- points and scenes

function undo() {
  if (session.past.length > 0) {
    setPoints(session.past.pop());
  }
}

function clear() {
  rememberPoints();
  setPoints([]);
}

function showScene(name) {
  openScene(name);
  remember();
}

/** Show the scene that is `places` after the current one. */
function turn(places) {
  const names = Object.keys(SCENES);
  const place = names.indexOf(session.scene) + places;
  showScene(names[(place + names.length) % names.length]);
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied.");
  } catch {
    say("Copy the address.");
  }
}

// ---- sums

/** Replace the points with others of the same sums, which changes no Gaussian model. */
function showOtherPoints() {
  const { state } = session;
  rememberPoints();
  setPoints(pointsOfSameSums(state.points, state.dimension, state.points.length));
  say(
    "These points have the same counts, means and scatters, so the Gaussian models are the same.",
  );
}

/** Add the points of another link, as sums are added: a + b. */
function addLink() {
  try {
    const others = pointsOfLink(find("#other-link").value.trim());
    rememberPoints();
    setPoints([...session.state.points, ...others]);
    say(`${others.length} points are added, and so are their sums (a + b).`);
  } catch (error) {
    say(error.message);
  }
}

/** Remove the chosen point, as sums are subtracted: a − b. */
function forgetChosen() {
  const { chosen, state } = session;
  if (!chosen) {
    say("Choose a point first: click it, or press enter on it.");
    return;
  }
  rememberPoints();
  session.chosen = null;
  session.hovered = null;
  setPoints(state.points.filter((point) => point !== chosen));
  say("The point is forgotten (a − b), so the model is the same as if it had never been added.");
}

const MOST_LEFT_OUT = 400;

function showLeaveOneOut() {
  const { fit } = session;
  if (!fit.settings || fit.x.length > MOST_LEFT_OUT) {
    say(`Leave-one-out fits one model for each point, so use at most ${MOST_LEFT_OUT} points.`);
    return;
  }
  session.leftOut = leaveOneOut();
  repaint();
}

/** Take one more step of EM from the same start. */
function stepEm() {
  change({ model: "mixture", emSteps: session.state.emSteps + 1 });
}

/** Show the scene as text, and copy the text if the browser allows it. */
async function take(text) {
  find("#taken").value = text;
  find("#taken").hidden = false;
  try {
    await navigator.clipboard.writeText(text);
    say("The text is copied.");
  } catch {
    find("#taken").select();
    say("Copy the text that is selected.");
  }
}

function switchTheme() {
  const root = document.documentElement;
  const isDark = getComputedStyle(root).colorScheme.includes("dark");
  root.dataset.theme = isDark ? "light" : "dark";
  repaint();
}

// ---- the descent

const STEP_MILLISECONDS = 60;
const MOST_LINKED_STEPS = 10000;
let timer = null; // timer of a running descent

/** Take n steps; return whether any step changed the parameters. */
function takeSteps(n) {
  const changes = range(n).map(() => session.descent?.step());
  repaint();
  return changes.includes(true);
}

function stopDescent() {
  clearInterval(timer);
  timer = null;
}

function runOrPauseDescent() {
  if (timer !== null) {
    stopDescent();
    return;
  }
  timer = setInterval(() => {
    if (!takeSteps(1)) {
      stopDescent();
    }
  }, STEP_MILLISECONDS);
}

function resetDescent() {
  stopDescent();
  restartDescent();
  repaint();
}

function showOrHideDescent() {
  const start = { method: "gd", rate: 0.1, start: [0, 0, 0] };
  change({ descent: session.state.descent ? null : start });
}

/** Start the descent at the place where the surface was clicked. */
function startDescentAt(event) {
  const { descent, state } = session;
  const view = new View(event.target, descent.window());
  const [i, j] = descent.axes;
  const start = [0, 0, 0];
  start[i] = rounded(view.x(event.offsetX));
  start[j] = rounded(view.y(event.offsetY));
  change({ descent: { ...state.descent, start } });
}

// ---- Python

const server = JSON.parse(find("#server").textContent); // null unless Python serves the page
const REMOTE_CELLS = 100; // number of cells along each axis

/** Ask Python for the model of the points, and show the model if the points have not changed. */
async function askPython(fit) {
  const { model, window } = session.state;
  const { x, y, K } = fit;
  const points = pointsToPredict(x, window, REMOTE_CELLS);
  try {
    const numbers = await post(`${server.at}fit`, { name: model, x, y, at: points });
    if (fit === session.fit) {
      setModel(fit, new RemoteModel(numbers, x, K, window, REMOTE_CELLS));
    }
    repaint();
  } catch (error) {
    say(error.message);
  }
}

/** Show the rows of a table as points over one or two columns. */
function showTable(table) {
  const hasOneColumn = table.points[0].length === 2;
  let { points } = table;
  if (hasOneColumn) {
    points = points.map(([x, k]) => [x, 0, k]);
  }
  session.table = table;
  session.truth = null;
  session.chosen = null;
  change({
    points,
    window: [...endsOf(points, 0), ...(hasOneColumn ? [0, 1] : endsOf(points, 1))],
    labels: START.labels.map((label, k) => table.labels[k] ?? label),
    names: table.names,
    K: table.labels.length,
    dimension: hasOneColumn ? 1 : 2,
    painted: true,
    descent: null,
  });
  showColumns(table);
  find("#scene").selectedIndex = -1;
  find("#title").textContent = "Your own table";
  find("#text").textContent = table.said;
  find("#table-said").textContent = table.said;
}

/** Return the ends of an axis that contains all points. */
function endsOf(points, j) {
  const values = points.map((point) => point[j]);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const margin = 0.06 * (high - low || 1);
  return [low - margin, high + margin];
}

/** Offer the columns of a table as axes. */
function showColumns({ names, columns }) {
  ["#axis-x", "#axis-y"].forEach((id, i) => {
    // discriminant coordinates are not columns, so the first columns are selected
    const shown = columns.includes(names[i]) ? names[i] : columns[i];
    const options = columns.map((name) => new Option(name, name, false, name === shown));
    find(id).replaceChildren(...options);
  });
  find("#columns").hidden = false;
}

function showErrors({ models, said }) {
  const rows = models.map(([name, ...losses]) => {
    const cells = losses.map((loss) => loss?.toFixed(4) ?? "–");
    return tableRow(name, ...cells);
  });
  const head = tableRow("model", "error", "± s.e.", "log-loss");
  find("#judged").replaceChildren(head, ...rows);
  find("#table-said").textContent = said;
}

/** Post a request and show the answer, or the message of the library's error. */
async function request(path, body, show) {
  find("#table-said").textContent = "Python is at work…";
  try {
    show(await post(server.at + path, body));
  } catch (error) {
    find("#table-said").textContent = error.message;
  }
}

function uploadTable() {
  const file = find("#file").files[0];
  const parameters = new URLSearchParams({
    name: file?.name ?? "",
    target: find("#target").value,
  });
  return request(`table?${parameters}`, file ?? new Blob(), showTable);
}

function showTwoColumns() {
  const axes = [find("#axis-x").value, find("#axis-y").value];
  return request("view", { axes }, showTable);
}

function showDiscriminant() {
  return request("view", { axes: "discriminant" }, showTable);
}

function crossValidate() {
  const { x, y } = session.fit;
  const ofAllColumns = find("#all-columns").checked;
  return request("errors", ofAllColumns ? {} : { x, y }, showErrors);
}

// ---- the start of the page

/** The action of each button, by the attribute data-do. */
const ACTIONS = {
  undo,
  clear,
  draw: () => drawSample(session.state.seed + 1),
  previous: () => turn(-1),
  next: () => turn(1),
  again: () => showScene(session.scene),
  link: copyLink,
  theme: switchTheme,
  step: () => takeSteps(1),
  many: () => takeSteps(20),
  run: runOrPauseDescent,
  reset: resetDescent,
  descend: showOrHideDescent,
  others: showOtherPoints,
  merge: addLink,
  forget: forgetChosen,
  leave: showLeaveOneOut,
  em: stepEm,
  python: () => take(pythonText()),
  moments: () => take(momentsText()),
  parameters: () => take(modelText()),
  upload: uploadTable,
  axes: showTwoColumns,
  discriminant: showDiscriminant,
  judge: crossValidate,
};

/** Actions that an address may start, as in "do=others". */
const LINKED_ACTIONS = new Set(["others", "leave"]);

/** Open the scene and settings of the address, then take its steps and start its action. */
function openLink() {
  openAddress();
  const parameters = new URLSearchParams(location.hash.slice(1));
  const steps = Number(parameters.get("steps"));
  if (steps > 0 && session.descent) {
    takeSteps(Math.min(steps, MOST_LINKED_STEPS));
  }
  const action = parameters.get("do");
  if (LINKED_ACTIONS.has(action)) {
    ACTIONS[action]();
  }
}

function listen() {
  find("#scene").addEventListener("change", (event) => showScene(event.target.value));
  for (const control of findAll("[data-key]")) {
    control.addEventListener("input", () => readControl(control));
  }
  for (const button of findAll("[data-do]")) {
    button.addEventListener("click", () => ACTIONS[button.dataset.do]());
  }
  for (const button of findAll("[data-brush]")) {
    button.addEventListener("click", () => chooseBrush(Number(button.dataset.brush)));
  }
  const plane = find("#plane");
  for (const kind of ["down", "move", "up", "cancel", "leave"]) {
    plane.addEventListener(`pointer${kind}`, handlePointer);
  }
  plane.addEventListener("keydown", handleKey);
  plane.addEventListener("contextmenu", (event) => event.preventDefault());
  find("#surface").addEventListener("pointerdown", startDescentAt);
  new ResizeObserver(repaint).observe(plane);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("hashchange", openLink);
}

session.askPython = askPython;
onChange(describe);
onChange(() => findAll("[data-key]").forEach(display));
onChange(paint);
onChange(showQuestion);
listen();
chooseBrush(0);
openLink();
if (server?.table) {
  openScene("lda");
  showTable(server.table);
}

// functions for tests and other pages
globalThis.lab = {
  session,
  openScene,
  change,
  paint,
  errors,
  equations,
  contributions,
  leaveOneOut,
  pythonText,
  momentsText,
  modelText,
  answer,
  score,
  normalArrow,
  threeLines,
  sums: () => sumsOf(session.fit),
  /** Return posteriors and actions on n × n cell centres of the window. */
  grid: (n) => raster(session.fit.model, session.fit.rule, session.state.window, n),
};
