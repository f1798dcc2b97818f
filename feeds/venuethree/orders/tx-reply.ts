/**
 * Frames of the connection that carries transactions → what was answered to which. Never throws. Refusals come as
 * `{"error":{code,message},"id"}`, and from some servers flat, under the type of the request (fact sheet 9.2).
 */
import { isFields, parseJsonExact } from "../../shared/room/wire-fields.js";

export type TxFrame =
  | {
      readonly kind: "reply";
      readonly id: string;
      readonly isRefusal: boolean;
      readonly code: number | null;
      readonly message: string;
      readonly hash: string | null;
    }
  /** About no transaction that it names: nothing can be concluded from it for any. */
  | { readonly kind: "nameless"; readonly code: number | null }
  | { readonly kind: "ping" }
  /** The greeting, pongs. */
  | { readonly kind: "other" }
  | { readonly kind: "malformed" };

const REPLY_TYPE = "jsonapi/sendtx";

export function decodeTxFrame(text: string): TxFrame {
  const data = parseJsonExact(text);
  if (!isFields(data)) return { kind: "malformed" };
  const { type, id, error } = data;
  if (type === "ping") return { kind: "ping" };
  const isRefusal = isFields(error);
  if (!isRefusal && type !== REPLY_TYPE) return { kind: "other" };
  const body = isRefusal ? error : data;
  const code = typeof body["code"] === "number" ? body["code"] : null;
  // Told back as it was sent; ours are digits in a text.
  if (typeof id !== "string" && typeof id !== "number") return { kind: "nameless", code };
  const { message, tx_hash: hash } = body;
  return {
    kind: "reply",
    id: String(id),
    isRefusal,
    code,
    message: typeof message === "string" ? message : "",
    hash: typeof hash === "string" && hash !== "" ? hash : null,
  };
}
