/**
 * The storage sidecar as the service sees it: the child that runs the embedded engine, and the address where the store
 * reaches it.
 *
 * Invariant: the address is known only while a child that reported ready is alive, so no password is ever sent to
 * another program on its port.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { RecordsEndpoint } from "../../engine/storage/records/clickhouse-client.js";
import { isSidecarReport, type SidecarReport, type SidecarStart } from "../children/sidecar-messages.js";
import { type ChildProgram, type ChildState, ChildSupervisor, type SupervisorPorts } from "./child-supervisor.js";

const DEFAULT_SIDECAR_MEMORY_BYTES = 1024 * 1024 * 1024;
const SIDECAR_USER = "unwind";

/** Loading the library from a cold disk takes seconds. */
const READY_WAIT_MS = 60_000;
/** The child itself waits 5 s for running inserts. */
const STOP_WAIT_MS = 8_000;

export interface SidecarOptions extends SupervisorPorts {
  /** Contains the data of the record; created if missing. */
  readonly directory: string;
  /** Maximum memory of the embedded engine. */
  readonly memoryBytes?: number;
  /** The compiled main of the child; by default its place in this build. */
  readonly childPath?: string;
}

interface Ready {
  readonly port: number;
  readonly version: string;
  readonly password: string;
}

export class StorageSidecar {
  readonly #supervisor: ChildSupervisor<Ready>;

  constructor(options: SidecarOptions) {
    this.#supervisor = new ChildSupervisor(sidecarProgram(options), options);
  }

  /** Where the store can be reached now, or why it cannot. Passed to the ClickHouse store. */
  endpoint(): RecordsEndpoint {
    const { ready } = this.#supervisor;
    if (ready !== null)
      return { url: `http://127.0.0.1:${ready.port}`, username: SIDECAR_USER, password: ready.password };
    const { state, reason } = this.#supervisor.state();
    return { url: null, isFinal: state === "off" || state === "stopped", reason };
  }

  state(): ChildState {
    return this.#supervisor.state();
  }

  /** Resolves once the first child is ready, off, or failed; never rejects. */
  started(): Promise<ChildState> {
    return this.#supervisor.started();
  }

  /** Resolves as soon as there is an address, or none will come. */
  settled(): Promise<ChildState> {
    return this.#supervisor.settled();
  }

  /** Ends within a time limit; kills a child that does not end. Idempotent. */
  stop(): Promise<void> {
    return this.#supervisor.stop();
  }
}

export function startStorageSidecar(options: SidecarOptions): StorageSidecar {
  return new StorageSidecar(options);
}

function sidecarProgram({ directory, memoryBytes, childPath, logger }: SidecarOptions): ChildProgram<Ready> {
  let password = "";
  let port = 0;
  return {
    name: "the embedded store",
    logName: "sidecar",
    childPath: childPath ?? fileURLToPath(new URL("../children/storage.child.js", import.meta.url)),
    readyWaitMs: READY_WAIT_MS,
    stopWaitMs: STOP_WAIT_MS,
    prepare() {
      try {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
      } catch {
        logger.warn("sidecar.directory_unwritable");
        return { problem: "the data directory of the record cannot be created" };
      }
      password = randomBytes(24).toString("hex");
      const memory = memoryBytes ?? DEFAULT_SIDECAR_MEMORY_BYTES;
      const message: SidecarStart = { kind: "start", directory, password, port, memoryBytes: memory };
      return { message: { ...message } };
    },
    read(message) {
      if (!isSidecarReport(message)) return null;
      if (message.kind === "refused") return { kind: "refused", text: message.text, isFinal: isFinal(message) };
      port = message.port;
      return { kind: "ready", ready: { port, version: message.version, password } };
    },
    fieldsOf: (ready) => ({ port: ready.port, version: ready.version }),
  };
}

/** What is not installed will not be there a second later. */
function isFinal({ reason }: Extract<SidecarReport, { kind: "refused" }>): boolean {
  return reason === "missing";
}
