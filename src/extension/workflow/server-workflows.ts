import { isObject, stringAt } from "../../core/json.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { didYouMean } from "../../core/spelling.ts";
import type { ExtensionScope } from "../catalog.ts";
import type { TrustList } from "../discovery/trust.ts";
import type {
  FoundWorkflow,
  WorkflowCatalog,
  WorkflowHost,
  WorkflowListing,
  WorkflowRun,
} from "./contract.ts";
import { DeclaredRun } from "./declared-run.ts";
import { type KnownWorkflow, knownWorkflows } from "./known-workflows.ts";
import type { ModuleWorkflows } from "./module-workflows.ts";
import { planOf } from "./plan.ts";
import { readWorkflowFile, refusedFile } from "./workflow-file.ts";

export interface ServerWorkflowsOptions {
  readonly bundled: string;
  readonly home: string;
  readonly trust: Pick<TrustList, "read">;
  /** Those that are extensions. */
  readonly modules: Pick<ModuleWorkflows, "list" | "find" | "open">;
  /** Whether files of workspaces count at all: not where their agents have a user of their own. */
  readonly loadsWorkspaces: boolean;
  /** Whether a tenant trusts a workspace. */
  isTrusted(place: ExtensionScope): Promise<Result<boolean>>;
}

/** The workflows that the sessions of a server can have, as they are on the disk at that moment. */
export class ServerWorkflows implements WorkflowCatalog {
  readonly #options: ServerWorkflowsOptions;

  constructor(options: ServerWorkflowsOptions) {
    this.#options = options;
  }

  async list(place: ExtensionScope): Promise<readonly WorkflowListing[]> {
    const workspace = await this.#workspaceOf(place);
    const known = await this.#known(workspace);
    const declared = known.map(({ name, source, declared: made, why }) => {
      return { name, description: made?.description ?? "", source, why };
    });
    const all = [...declared, ...(await this.#options.modules.list(workspace))];
    return all.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  async find(place: ExtensionScope, name: string): Promise<Result<FoundWorkflow>> {
    const workspace = await this.#workspaceOf(place);
    const known = await this.#known(workspace);
    const ofName = known.filter((one) => one.name === name);
    const found = ofName.find(({ why }) => why === null) ?? ofName[0];
    if (found === undefined) {
      const module = await this.#options.modules.find(place, workspace, name);
      if (module !== null) return module;
      const all = await this.list(place);
      const names = all.filter(({ why }) => why === null).map((one) => one.name);
      const reason = `there are ${names.join(", ")}${didYouMean(name, names)}`;
      return fail("workflow_missing", { workflow: name.slice(0, 64), reason });
    }
    const { declared, hash, why } = found;
    if (declared === null || hash === null || why !== null) {
      return why === null ? gone(name) : { ok: false, refusal: why };
    }
    return ok({ plan: planOf(declared), hash, text: storedText(found) });
  }

  /** Of a workspace only what is trusted at this moment: that may have been taken back since. */
  async open(text: string, host: WorkflowHost): Promise<Result<WorkflowRun>> {
    const module = await this.#options.modules.open(text, host);
    if (module !== null) return module;
    const stored = readStored(text);
    if (stored === null) return gone("?");
    const { name, source } = stored;
    const { declared, hash, faults } = readWorkflowFile(stored.text);
    if (declared === null) return { ok: false, refusal: refusedFile(name, faults) };
    if (source !== "workspace") return ok(new DeclaredRun(declared, host));
    const trusted = await this.#options.trust.read();
    if (!trusted.ok) return trusted;
    if (trusted.value.some((one) => one.hash === hash)) return ok(new DeclaredRun(declared, host));
    return fail("workflow_untrusted", { workflow: name, file: "the session", hash });
  }

  #known(workspace: string | null): Promise<readonly KnownWorkflow[]> {
    const { bundled, home, trust } = this.#options;
    return knownWorkflows({ bundled, home, workspace, trust });
  }

  /** Null if nothing of it counts. */
  async #workspaceOf(place: ExtensionScope): Promise<string | null> {
    const { loadsWorkspaces, isTrusted } = this.#options;
    // If the store cannot say whether it is trusted, it is not.
    const trusted = loadsWorkspaces ? await isTrusted(place) : ok(false);
    return trusted.ok && trusted.value ? place.workspaceCwd : null;
  }
}

function gone(workflow: string): Result<never> {
  return fail("workflow_missing", { workflow, reason: "what is stored of it cannot be read" });
}

function storedText({ name, source, text }: KnownWorkflow): string {
  return JSON.stringify({ kind: "declared", name, source, text });
}

function readStored(stored: string) {
  try {
    const read: unknown = JSON.parse(stored);
    if (!isObject(read)) return null;
    const [name, source, text] = ["name", "source", "text"].map((key) => stringAt(read, key));
    return name && source && text ? { name, source, text } : null;
  } catch {
    return null;
  }
}
