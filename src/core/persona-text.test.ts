import { describe, expect, it } from "vitest";
import { NO_PERSONA, type Persona, readPersona, writePersona } from "./persona.ts";

const PERSONA: Persona = {
  files: [{ name: "SOUL.md", source: "user", path: "SOUL.md", text: "Be kind.\n" }],
  diagnostics: [
    { name: "USER.md", code: "too_large", message: "It is too large.", path: "USER.md" },
  ],
};

describe("the text of a persona", () => {
  it("P7: reads back as the same persona", () => {
    expect(readPersona(writePersona(PERSONA))).toEqual(PERSONA);
    expect(readPersona(writePersona(NO_PERSONA))).toEqual(NO_PERSONA);
  });

  it("is this text, so that its hash stays what it is", () => {
    expect(writePersona({ ...PERSONA, diagnostics: [] })).toBe(
      '{"form":"persona/1","files":[{"name":"SOUL.md","source":"user","path":"SOUL.md",' +
        '"text":"Be kind.\\n"}],"diagnostics":[]}',
    );
  });

  it.each(["", "{}", "null", writePersona(PERSONA).replace("SOUL", "EVIL")])(
    "is nothing else: %j",
    (text) => {
      expect(readPersona(text)).toBeNull();
    },
  );
});
