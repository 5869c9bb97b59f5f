import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { PERSONA_FILE_BYTES_MAX } from "../core/limits.ts";
import {
  PERSONA_FILES,
  type Persona,
  type PersonaDiagnostic,
  type PersonaFile,
  type PersonaFileName,
  type PersonaSource,
} from "../core/persona.ts";
import { hasName, readTextInside } from "./text-file.ts";

/** A directory in which persona files may lie, strongest first. */
export interface PersonaPlace {
  readonly source: PersonaSource;
  /** The file must really lie below this. */
  readonly folder: string;
  /** The way from there to the files, with `/`; empty if they lie in it. */
  readonly way: string;
}

/**
 * For each name the first file that is there. If that one cannot be used, nothing takes its place,
 * as with skills: a persona is what its owner wrote, or visibly nothing.
 */
export async function readPersonaFiles(places: readonly PersonaPlace[]): Promise<Persona> {
  const looks = await Promise.all(PERSONA_FILES.map((name) => firstOf(name, places)));
  return {
    files: looks.flatMap((look) => look?.file ?? []),
    diagnostics: looks.flatMap((look) => look?.diagnostic ?? []),
  };
}

/** The first of the names that there is a file for, at any of the places. */
export async function anyPersonaFile(
  places: readonly PersonaPlace[],
): Promise<PersonaFileName | null> {
  for (const name of PERSONA_FILES) {
    for (const { folder, way } of places) {
      if (await hasName(join(folder, way, name))) return name;
    }
  }
  return null;
}

type Look = { readonly file?: PersonaFile; readonly diagnostic?: PersonaDiagnostic };

async function firstOf(
  name: PersonaFileName,
  places: readonly PersonaPlace[],
): Promise<Look | null> {
  for (const { source, folder, way } of places) {
    const path = way === "" ? name : `${way}/${name}`;
    const root = await realpath(folder).catch(() => null);
    if (root === null) continue;
    const read = await readTextInside(root, join(root, path), PERSONA_FILE_BYTES_MAX);
    if (read.kind === "missing") continue;
    if (read.kind === "text" && !read.text.includes("\0")) {
      return { file: { name, source, path, text: read.text } };
    }
    const { code, reason } = read.kind === "fault" ? read : NUL;
    const message = `${name} of the ${source} cannot be used: ${reason}.`;
    return { diagnostic: { name, code, message, path } };
  }
  return null;
}

const NUL = { code: "unreadable", reason: "it has a NUL character" } as const;
