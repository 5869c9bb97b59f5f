import { DAMAGED, list, object, oneOf, text } from "./session/slot-codec.ts";

/** The files that say who an agent is to be, in the order of its instructions. */
export const PERSONA_FILES = ["AGENTS.md", "IDENTITY.md", "SOUL.md", "USER.md"] as const;
export type PersonaFileName = (typeof PERSONA_FILES)[number];

/** The workspace's own, or the operator's. */
const PERSONA_SOURCES = ["workspace", "user"] as const;
export type PersonaSource = (typeof PERSONA_SOURCES)[number];

/** Why a file that is there was not taken. */
const PERSONA_FAULTS = ["unreadable", "too_large", "untrusted_workspace"] as const;
type PersonaFault = (typeof PERSONA_FAULTS)[number];

/** As they were read when the session was made or its persona was reloaded. */
export interface Persona {
  readonly files: readonly PersonaFile[];
  readonly diagnostics: readonly PersonaDiagnostic[];
}

export interface PersonaFile {
  readonly name: PersonaFileName;
  readonly source: PersonaSource;
  /** Inside the workspace or the user's folder. */
  readonly path: string;
  readonly text: string;
}

/** A file that is there and was not taken whole. */
export interface PersonaDiagnostic {
  readonly name: PersonaFileName;
  readonly code: PersonaFault;
  readonly message: string;
  readonly path: string;
}

export const NO_PERSONA: Persona = { files: [], diagnostics: [] };

const FILE = object<PersonaFile>({
  name: oneOf(...PERSONA_FILES),
  source: oneOf(...PERSONA_SOURCES),
  path: text,
  text,
});

const DIAGNOSTIC = object<PersonaDiagnostic>({
  name: oneOf(...PERSONA_FILES),
  code: oneOf(...PERSONA_FAULTS),
  message: text,
  path: text,
});

const PERSONA = object<Persona & { readonly form: "persona/1" }>({
  form: oneOf("persona/1"),
  files: list(FILE),
  diagnostics: list(DIAGNOSTIC),
});

/** The text whose hash names a persona: equal personas have equal texts. */
export function writePersona({ files, diagnostics }: Persona): string {
  return JSON.stringify(PERSONA.write({ form: "persona/1", files, diagnostics }));
}

/** Reads such a text back; null if it is anything else. */
export function readPersona(written: string): Persona | null {
  try {
    const json: unknown = JSON.parse(written);
    const read = PERSONA.read(json);
    return read === DAMAGED ? null : { files: read.files, diagnostics: read.diagnostics };
  } catch {
    return null;
  }
}
