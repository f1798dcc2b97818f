/** The messages between the storage sidecar and its supervisor over the process channel. */

/**
 * To the child, once, as its first message. The password is new at each start and is in no environment or argument
 * list.
 */
export interface SidecarStart {
  readonly kind: "start";
  readonly directory: string;
  readonly password: string;
  /** The port it had before, or 0; used if it is free. */
  readonly port: number;
  readonly memoryBytes: number;
}

/** From the child. `off`: starting it again would not help. */
export type SidecarReport =
  | { readonly kind: "ready"; readonly port: number; readonly version: string }
  | { readonly kind: "refused"; readonly reason: "missing" | "locked" | "failed"; readonly text: string };

/** Exit codes of the child, for people who run it by hand. */
export const SIDECAR_EXIT = { stopped: 0, fault: 1, missing: 3, locked: 4, failed: 5 } as const;

export function isSidecarReport(message: unknown): message is SidecarReport {
  if (typeof message !== "object" || message === null || !("kind" in message)) return false;
  if (message.kind === "ready") return "port" in message && typeof message.port === "number" && "version" in message;
  return message.kind === "refused" && "reason" in message && "text" in message;
}

export function isSidecarStart(message: unknown): message is SidecarStart {
  return (
    typeof message === "object" &&
    message !== null &&
    "kind" in message &&
    message.kind === "start" &&
    "directory" in message &&
    typeof message.directory === "string" &&
    "password" in message &&
    typeof message.password === "string" &&
    "port" in message &&
    typeof message.port === "number" &&
    "memoryBytes" in message &&
    typeof message.memoryBytes === "number"
  );
}
