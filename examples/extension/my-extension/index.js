/** @import { MakeExtension } from "fermata/extension" */

/**
 * Called once for each session.
 *
 * @type {MakeExtension}
 */
export default function make({ config, slots }) {
  return {
    hooks: {
      before_tool_call({ title }) {
        const { word } = config;
        if (typeof word !== "string" || !title.includes(word)) return undefined;
        return { verdict: "ask", reason: `there is "${word}" in it` };
      },
      after_turn() {
        const { turns = 0 } = Object(slots.get());
        slots.set({ turns: turns + 1 });
      },
    },
  };
}
