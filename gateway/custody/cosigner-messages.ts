/** The messages between the co-signer's process and the service that starts it. */

export interface CosignerStart {
  readonly kind: "start";
  /** Folder of the co-signer's side. */
  readonly directory: string;
  /** The port it had before, or 0. */
  readonly port: number;
  readonly logLevel: string;
}

export type CosignerReport =
  | { readonly kind: "ready"; readonly port: number }
  /** `isFinal`: its operator has to change something; waiting helps nothing. */
  | { readonly kind: "refused"; readonly text: string; readonly isFinal: boolean };

export function isCosignerStart(message: unknown): message is CosignerStart {
  if (typeof message !== "object" || message === null) return false;
  const { kind, directory, port, logLevel } = message as Readonly<Record<string, unknown>>;
  return kind === "start" && typeof directory === "string" && typeof port === "number" && typeof logLevel === "string";
}

export function isCosignerReport(message: unknown): message is CosignerReport {
  if (typeof message !== "object" || message === null) return false;
  const { kind, port, text, isFinal } = message as Readonly<Record<string, unknown>>;
  return (
    (kind === "ready" && typeof port === "number") ||
    (kind === "refused" && typeof text === "string" && typeof isFinal === "boolean")
  );
}
