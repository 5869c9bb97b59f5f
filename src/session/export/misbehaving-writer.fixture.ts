// Processes of exports as hostile texts could make them: one never comes to its first piece, the
// other parses more than its memory holds. Which it is, is chosen by the name of the session.

process.on("disconnect", () => process.exit());
process.once("message", ({ record }: { record: { displayName: string } }) => {
  const isHungry = record.displayName === "hungry";
  if (isHungry) JSON.parse(`[${"{},".repeat(2_000_000)}{}]`);
  for (;;);
});
