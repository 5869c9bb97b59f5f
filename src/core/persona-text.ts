import {
  PERSONA_FAULTS,
  PERSONA_FILES,
  PERSONA_SOURCES,
  type Persona,
  type PersonaDiagnostic,
  type PersonaFile,
} from "./persona.ts";
import { DAMAGED, list, object, oneOf, text } from "./session/slot-codec.ts";

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
