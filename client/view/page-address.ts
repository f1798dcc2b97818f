/**
 * The page's address after `#`: `symbol=BTC&side=SELL&size=0.25`, or a symbol alone. A link shows what its sender saw;
 * unreadable parts are ignored.
 */
import { checkSize, type ExitSide } from "./exit.js";

export interface PageAddress {
  readonly symbol: string;
  readonly side: ExitSide;
  /** Null when the page should offer one. */
  readonly size: string | null;
}

const DEFAULT_SYMBOL = "BTC";
const MAX_SYMBOL_CHARS = 40;

export function readAddress(hash: string): PageAddress {
  const text = hash.replace(/^#/, "");
  const fields = new URLSearchParams(/^(symbol|side|size)=/.test(text) ? text : "");
  const symbol = (fields.get("symbol") ?? (text.includes("=") && fields.size > 0 ? "" : decoded(text)))
    .trim()
    .toUpperCase();
  const size = checkSize(fields.get("size") ?? "");
  return {
    symbol: symbol === "" || symbol.length > MAX_SYMBOL_CHARS ? DEFAULT_SYMBOL : symbol,
    side: fields.get("side")?.toUpperCase() === "BUY" ? "BUY" : "SELL",
    size: size.ok ? size.size : null,
  };
}

export function addressText({ symbol, side, size }: PageAddress): string {
  const fields = new URLSearchParams({ symbol, side, ...(size === null ? {} : { size }) });
  return `#${fields.toString()}`;
}

/** A person may have typed it: half an escape must not empty the page. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
