/** The co-signer that the service starts beside itself, and the port where the link reaches it. */
import { fileURLToPath } from "node:url";
import type { LinkPlace } from "../custody/link-client.js";
import { type CosignerStart, isCosignerReport } from "../custody/cosigner-messages.js";
import { type ChildProgram, type ChildState, ChildSupervisor, type SupervisorPorts } from "./child-supervisor.js";

/** Its store may be large, and its passes over all rows come first. */
const READY_WAIT_MS = 60_000;
/** It ends its sessions and writes what they leave. */
const STOP_WAIT_MS = 8_000;

export interface CosignerProcessOptions extends SupervisorPorts {
  /** Folder of the co-signer's side. */
  readonly directory: string;
  readonly logLevel: string;
  /** The compiled main of the child; by default its place in this build. */
  readonly childPath?: string;
}

export class CosignerProcess {
  readonly #supervisor: ChildSupervisor<number>;

  #refusal: string | null = null;

  constructor(options: CosignerProcessOptions) {
    const program = programOf(options, (refusal) => {
      this.#refusal = refusal;
    });
    this.#supervisor = new ChildSupervisor(program, options);
  }

  /** What its operator has to change before it starts, for people; null: nothing known. It is started again all the same. */
  get refusal(): string | null {
    return this.#refusal;
  }

  /** Null while no child listens. */
  place(): LinkPlace | null {
    const { ready } = this.#supervisor;
    return ready === null ? null : { host: "127.0.0.1", port: ready };
  }

  state(): ChildState {
    return this.#supervisor.state();
  }

  /** Resolves once the first child listens, or did not come up; never rejects. */
  started(): Promise<ChildState> {
    return this.#supervisor.started();
  }

  stop(): Promise<void> {
    return this.#supervisor.stop();
  }
}

function programOf(
  { directory, logLevel, childPath }: CosignerProcessOptions,
  noteRefusal: (refusal: string | null) => void,
): ChildProgram<number> {
  let port = 0;
  return {
    name: "the co-signer",
    logName: "cosigner",
    childPath: childPath ?? fileURLToPath(new URL("../cosigner/cosigner.child.js", import.meta.url)),
    readyWaitMs: READY_WAIT_MS,
    stopWaitMs: STOP_WAIT_MS,
    logs: true,
    prepare: () => ({ message: { kind: "start", directory, port, logLevel } satisfies CosignerStart }),
    read(message) {
      if (!isCosignerReport(message)) return null;
      noteRefusal(message.kind === "refused" && message.isFinal ? message.text : null);
      // What it refuses may be mended while the service runs; a port that is taken meanwhile is not come by again.
      if (message.kind === "refused") {
        port = 0;
        return { kind: "refused", text: message.text, isFinal: false };
      }
      port = message.port;
      return { kind: "ready", ready: port };
    },
    fieldsOf: (ready) => ({ port: ready }),
  };
}
