/** What authors of workflows need: `import type { MakeWorkflow } from "fermata/workflow"`. */
export type { SessionFacts } from "../contract.ts";
export type { PlainData } from "../plain-data.ts";
export type * from "./contract.ts";
export type * from "./workflow.ts";
