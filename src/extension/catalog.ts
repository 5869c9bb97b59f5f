import type { TenantId } from "../core/id.ts";
import type { JsonObject } from "../core/json.ts";
import type { Result } from "../core/result.ts";
import type { HookName } from "./hook.ts";
import type { ExtensionManifest } from "./manifest.ts";
import type { LeftOut } from "./roster.ts";

/** Knows the extensions that sessions are to have. */
export interface ExtensionCatalog {
  /** As they are configured and trusted at this moment; none of their code runs by that. */
  of(place: ExtensionScope): Promise<ChosenExtensions>;
  /** Reads again what the operator has configured; what is refused changes nothing. */
  reread(): Promise<Result<void>>;
}

/** Where the sessions are that want to know. */
export interface ExtensionScope {
  readonly tenantId: TenantId;
  readonly workspaceCwd: string;
}

export interface ChosenExtensions {
  readonly enabled: readonly EnabledExtension[];
  readonly refused: readonly AbsentExtension[];
}

/** An extension that the sessions of a workspace are to have. */
export interface EnabledExtension {
  readonly manifest: ExtensionManifest;
  readonly isCritical: boolean;
  readonly config: JsonObject;
  /** The hash of its code. */
  readonly code: string;
  /** The address of its module, in the server's copy of it. */
  module(): Promise<Result<string>>;
}

/** One that they were to have and that cannot be loaded, such as code that is not trusted. */
export interface AbsentExtension extends LeftOut {
  readonly isCritical: boolean;
  /** Those that it is configured to have. As long as it is not here, people are asked instead. */
  readonly hooks: readonly HookName[];
}
