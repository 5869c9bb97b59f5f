import { refusal } from "../../core/error.ts";
import { EXPORT_FORMATS, isExportFormat } from "../../session/export/export.ts";
import { answerTo, file, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { type Route, route } from "../route.ts";

/** A whole session as a file to keep (wire, 5). */
export function exportRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/export",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async ({ key }) => {
        const format = request.query.get("format") ?? "html";
        if (!isExportFormat(format)) {
          const formats = Object.keys(EXPORT_FORMATS).join(", ");
          return refused(refusal("invalid_export_format", { formats }));
        }
        const name = `fermata-${key.sessionId}`.replace(/[^A-Za-z0-9._-]/g, "_");
        const exported = await daemon.runtime.export(key, format);
        return answerTo(exported, ({ mediaType, pieces }) => {
          return file(mediaType, pieces, {
            "Content-Disposition": `attachment; filename="${name}.${format}"`,
          });
        });
      }),
  });
}
