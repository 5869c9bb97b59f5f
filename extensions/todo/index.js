/** @import { MakeExtension, PlainData } from "fermata/extension" */

/** As many steps and characters as the schema of its slot takes; of a longer plan the first. */
const STEPS_MAX = 200;
const STEP_CHARS_MAX = 500;

/** The server takes 16,384 characters for the agent. */
const LINES_CHARS_MAX = 16_000;

/**
 * Keeps the plan of a session, as its agent last told it. After a resume the agent hears of it with
 * the first prompt, if anything of it is still to do: it may be one that remembers nothing.
 *
 * @type {MakeExtension}
 */
export default function todo({ session, slots }) {
  let isToBeTold = session.isResumed;
  return {
    event(event) {
      const steps = stepsIn(event);
      if (steps === null) return;
      // The agent has a plan of its own again.
      isToBeTold = false;
      slots.set(steps.length === 0 ? null : { steps });
    },
    hooks: {
      before_turn() {
        const context = isToBeTold ? planText(kept(slots.get())) : null;
        isToBeTold = false;
        return context === null ? undefined : { verdict: "pass", context };
      },
    },
  };
}

/** @typedef {{ readonly content: string, readonly status: string }} Step */

/**
 * The steps of a plan that an agent has told; null if that is no plan. What an agent says is not
 * checked by the server, so each field is looked at.
 *
 * @param {PlainData} event
 * @returns {readonly Step[] | null}
 */
function stepsIn(event) {
  const { entries } = Object(event).data?.update ?? {};
  return Array.isArray(entries) ? stepsOf(entries) : null;
}

/** @param {PlainData} slot */
function kept(slot) {
  const { steps } = Object(slot);
  return Array.isArray(steps) ? stepsOf(steps) : [];
}

/**
 * @param {readonly unknown[]} entries
 * @returns {readonly Step[]}
 */
function stepsOf(entries) {
  return entries.slice(0, STEPS_MAX).flatMap((entry) => {
    const { content, status } = Object(entry);
    if (typeof content !== "string") return [];
    const isKnown = status === "in_progress" || status === "completed";
    const text = [...content.replaceAll(/\s+/g, " ").trim()].slice(0, STEP_CHARS_MAX).join("");
    return [{ content: text.toWellFormed(), status: isKnown ? status : "pending" }];
  });
}

/** @type {Readonly<Record<string, string>>} */
const MARKS = { completed: "[x]", in_progress: "[~]", pending: "[ ]" };

/**
 * What the agent is told; null if there is nothing left to do.
 *
 * @param {readonly Step[]} steps
 */
function planText(steps) {
  if (steps.every(({ status }) => status === "completed")) return null;
  let charsLeft = LINES_CHARS_MAX;
  const lines = steps.map(({ content, status }) => `${MARKS[status]} ${content}`);
  const told = lines.filter(({ length }) => {
    charsLeft -= length;
    return charsLeft >= 0;
  });
  return [
    "This session was resumed. This was your plan; [x] is done, [~] was being worked at:",
    ...told,
    ...(told.length < lines.length ? [`and ${lines.length - told.length} more`] : []),
    "It is there to remind you. What the person says now counts.",
  ].join("\n");
}
