/** The files that say who an agent is to be, in the order in which it is told. */
export const PERSONA_FILES = ["AGENTS.md", "IDENTITY.md", "SOUL.md", "USER.md"] as const;
export type PersonaFileName = (typeof PERSONA_FILES)[number];

/** The workspace's own, or that of whoever runs the server. */
export const PERSONA_SOURCES = ["workspace", "user"] as const;
export type PersonaSource = (typeof PERSONA_SOURCES)[number];

/** Why a file that is there was not taken. */
export const PERSONA_FAULTS = ["unreadable", "too_large", "untrusted_workspace"] as const;
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
