// A question for each scene, and the number of right answers.
import { SCENES } from "./scenes.js";
import { find, remember, session } from "./session.js";

/** Show the question of the scene, and whether the answer was right if it was answered. */
export function showQuestion() {
  const { ask, choices, right, why } = SCENES[session.scene].question;
  const given = session.answers[session.scene];
  find("#ask").textContent = ask;
  const buttons = choices.map((words, i) => choiceButton(words, i, given, right));
  find("#choices").replaceChildren(...buttons);
  let verdict = "";
  if (given !== undefined) {
    verdict = `${given === right ? "Right." : "Not quite."} ${why}`;
  }
  find("#verdict").textContent = verdict;
  find("#score").textContent = scoreText();
}

function choiceButton(words, i, given, right) {
  const button = document.createElement("button");
  button.textContent = words;
  button.disabled = given !== undefined;
  button.setAttribute("aria-pressed", String(given === i));
  if (given !== undefined && i === right) {
    button.className = "right";
  }
  button.addEventListener("click", () => answer(i));
  return button;
}

/** Answer the question of this scene, once. */
export function answer(i) {
  if (session.answers[session.scene] === undefined) {
    session.answers[session.scene] = i;
    showQuestion();
    remember();
  }
}

/** Return the number of right answers and the number of given answers. */
export function score() {
  const given = Object.entries(session.answers).filter(([name]) => name in SCENES);
  const right = given.filter(([name, i]) => SCENES[name].question.right === i).length;
  return { right, given: given.length, all: Object.keys(SCENES).length };
}

function scoreText() {
  const { right, given, all } = score();
  if (given === 0) {
    return "";
  }
  return given === all ? `All ${all} answered: ${right} right` : `${right} of ${given} right`;
}
