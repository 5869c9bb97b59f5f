import type { MakeExtension } from "fermata/extension";

interface Kept {
  readonly turns: number;
}

/** Called once for each session. */
const make: MakeExtension = ({ config, slots }) => ({
  hooks: {
    before_tool_call({ title }) {
      const { word } = config;
      if (typeof word !== "string" || !title.includes(word)) return undefined;
      return { verdict: "ask", reason: `there is "${word}" in it` };
    },
    after_turn() {
      // The schema of its slot was checked when it was kept.
      const { turns = 0 }: Partial<Kept> = Object(slots.get());
      slots.set({ turns: turns + 1 });
    },
  },
});

export default make;
