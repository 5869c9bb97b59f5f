import type { SessionId } from "../core/id.ts";
import { isObject } from "../core/json.ts";
import type { SecurityMode } from "../core/policy/risk.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { isName, isShortText, owns } from "./record.ts";

/**
 * The slim record that alone is enough to continue a conversation, safe to show to a reviewer: no
 * list of extensions, no slot, no secret. Its messages are stored beside it and read in pages,
 * because a snapshot costs its turn and not the history.
 */
export interface Manifest {
  readonly sessionId: SessionId;
  /** Stamped by the store that wrote it, and compared before anything else is read. */
  readonly storeId: string;
  readonly mode: SecurityMode;
  readonly projectRoot: string;
  /** Which state machine is attached, and where its slot is; its shape is its author's. */
  readonly smState?: { readonly smExtId: string; readonly stateSlotRef: string };
  readonly createdAt: number;
  readonly updatedAt: number;
}

const MODES: readonly SecurityMode[] = ["ask", "allowlist", "yolo"];
const KEYS: ReadonlySet<string> = new Set([
  "sessionId",
  "storeId",
  "mode",
  "projectRoot",
  "smState",
  "createdAt",
  "updatedAt",
]);

/** Checks a manifest before it is written or believed; unknown keys are refused, not dropped. */
export function checkManifest(manifest: Manifest, storeId: string): Result<Manifest> {
  const wrong = faultOf(manifest);
  if (wrong !== null) return fail("invalid_manifest", { path: wrong });
  if (manifest.storeId !== storeId) {
    return fail("resume_mismatch", { stored: manifest.storeId, active: storeId });
  }
  return ok(manifest);
}

/** The path of the first field that is not as it must be. */
function faultOf(manifest: Manifest): string | null {
  if (!isObject(manifest)) return "manifest";
  const unknown = Object.keys(manifest).find((key) => !KEYS.has(key));
  if (unknown !== undefined) return unknown;
  const inherited = [...KEYS].find((key) => key in manifest && !owns(manifest, key));
  if (inherited !== undefined) return inherited;
  const { sessionId, storeId, mode, projectRoot, smState, createdAt, updatedAt } = manifest;
  if (typeof sessionId !== "string" || sessionId === "") return "sessionId";
  if (typeof storeId !== "string" || storeId.trim() === "") return "storeId";
  if (!MODES.includes(mode)) return "mode";
  if (!isShortText(projectRoot) || !projectRoot.startsWith("/")) return "projectRoot";
  if (smState !== undefined && !isStateRef(smState)) return "smState";
  if (!Number.isSafeInteger(createdAt)) return "createdAt";
  return Number.isSafeInteger(updatedAt) ? null : "updatedAt";
}

function isStateRef(value: unknown): boolean {
  if (!isObject(value) || Object.keys(value).length !== 2) return false;
  const { smExtId, stateSlotRef } = value;
  return owns(value, "smExtId", "stateSlotRef") && isName(smExtId) && isName(stateSlotRef);
}
