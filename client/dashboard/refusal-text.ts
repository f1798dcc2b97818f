/** What a person reads of a refusal: the problem of a field where it names one. */
import { isLocalCode } from "../api/reply.js";

interface Refused {
  readonly code: string;
  readonly error: string;
  readonly outcome: "refused" | "unknown";
  readonly details: Readonly<Record<string, unknown>>;
}

export function refusalText({ code, error, outcome, details }: Refused): string {
  if (outcome === "unknown") return `${isLocalCode(code) ? "No answer" : error}: it may have been done. Try again.`;
  const { fields } = details;
  const [first] = Array.isArray(fields) ? (fields as readonly { path?: unknown; problem?: unknown }[]) : [];
  if (typeof first?.problem === "string" && typeof first.path === "string") return `${first.path} ${first.problem}.`;
  return error.endsWith(".") ? error : `${error}.`;
}
