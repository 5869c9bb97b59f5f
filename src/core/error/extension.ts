import { row } from "./row.ts";

/** What is refused to extensions, or of them: rows of the one table in `core/error.ts`. */
// biome-ignore format: a row is one line of facts and one of prose
export const EXTENSION_ERRORS = {
  invalid_extension: row(400, "never", "Validation/ShapeInvalid",
    'The extension "{extension}" is not valid at {path}: {reason}.'),
  invalid_extension_config: row(400, "never", "Validation/ConfigSchemaViolation",
    'The configuration of extension "{extension}" is not valid at {path}: {reason}.'),
  extension_cardinality: row(409, "never", "Validation/CardinalityMismatch",
    "Of the kind {kind} at most {limit} may be active in a session; these are: {active}."),
  extension_dependency_cycle: row(409, "never", "ExtensionHost/DependencyCycle",
    'The extension "{extension}" depends on a circle: {path}.'),
  extension_dependency_missing: row(409, "never", "ExtensionHost/DependencyMissing",
    'The extension "{extension}" depends on what is not there ({path}): {reason}.'),
  extension_phase_invalid: row(409, "never", "ExtensionHost/LifecyclePhaseInvalid",
    'The extension "{extension}" cannot {step} now: {reason}.'),
  extension_failed: row(502, "never", "ExtensionHost/LifecycleFailure",
    'The extension "{extension}" failed in {step}: {reason}.'),
  slot_access_denied: row(403, "never", "ExtensionHost/SlotAccessDenied",
    'The slot "{slot}" is not that of the extension "{extension}".'),
  slot_invalid: row(400, "never", "Validation/SlotInvalid",
    'The slot of extension "{extension}" is not valid at {path}: {reason}.'),
  slot_too_large: row(413, "never", "Session/SlotTooLarge",
    'The slot of extension "{extension}" has more than {limit} bytes.'),
  slot_version_missing: row(409, "never", "Validation/SlotVersionMissing",
    'The stored slot of extension "{extension}" has no version; it is kept as it is.'),
  slot_drift_rejected: row(409, "never", "Session/SlotDriftRejected",
    'The slot of extension "{extension}" has version {stored}, not {expected}; it is kept.'),
  slot_migration_failed: row(502, "never", "Session/SlotMigrationFailed",
    'The slot of extension "{extension}" stays at version {stored}: {reason}.'),
};
