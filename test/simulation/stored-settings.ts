import type { ClientId } from "../../src/core/id.ts";
import type { ApprovalMode } from "../../src/core/policy/risk.ts";
import type { SessionEvent } from "../../src/core/session/event.ts";

type Holds = (isSo: boolean, otherwise: () => string) => void;

/** What a session is set to and who is registered with it, as its log says. */
export class StoredSettings {
  modelId: string | null = null;
  approvalMode: ApprovalMode = "default";
  /** How often each client has attached without detaching. */
  readonly clients = new Map<ClientId, number>();

  hear(event: SessionEvent, holds: Holds) {
    if (event.type === "session_created") {
      const { modelConfig, approvalMode } = event.data.creation;
      this.modelId = modelConfig.modelId;
      this.approvalMode = approvalMode;
    } else if (event.type === "model_switched") this.modelId = event.data.modelId;
    else if (event.type === "approval_mode_changed") {
      const { previous, next } = event.data;
      const isSo = previous === this.approvalMode;
      holds(isSo, () => `its mode was ${this.approvalMode}, and changed from ${previous}`);
      this.approvalMode = next;
    } else if (event.type === "client_attached") this.#count(event.data.clientId, 1);
    else if (event.type === "client_detached") this.#count(event.data.clientId, -1);
    else if (event.type === "client_expired") this.clients.delete(event.data.clientId);
  }

  #count(clientId: ClientId, change: 1 | -1) {
    const count = (this.clients.get(clientId) ?? 0) + change;
    if (count > 0) this.clients.set(clientId, count);
    else this.clients.delete(clientId);
  }
}
