/**
 * An order on the closing side of a hedge: the venue forbids the reduce-only flag there, so the side that is closed and
 * a size of at most the live position take its place (invariant of the orders that only reduce).
 */
import type { Clock } from "../../domain/clock.js";
import { formatScaled } from "../../domain/decimal.js";
import { canonicalQtyDecimals, type Instrument } from "../../domain/instrument.js";
import type { VenuePosition } from "../../domain/position.js";
import type { Read } from "../../ports.js";
import { flat, positionsRefusal, readLive } from "./close-leg.js";
import { refusal, type CheckedOrder } from "./order-check.js";
import type { OrderContext } from "./single-context.js";
import type { Planned } from "./single-place.js";

/** An order that its caller places. On a hedge the flag is not the venue's to enforce: the live position bounds the size. */
export async function planPlaced(
  parts: { readonly clock: Clock },
  orderContext: OrderContext,
  order: CheckedOrder,
): Promise<Planned> {
  if (order.positionSide === "BOTH" || !order.reduceOnly) return { ok: true, order, positionsBefore: [] };
  const { room, session, instrument, deadline } = orderContext;
  const read = await readLive(parts, room, session, instrument, deadline, "streamed");
  const limited = closingLimit(instrument, order, read);
  if (limited.ok || !read.ok || read.source === "venue") return limited;
  // A refusal is the venue's own word.
  const verified = await readLive(parts, room, session, instrument, deadline, "verified");
  return closingLimit(instrument, order, verified);
}

function closingLimit(instrument: Instrument, order: CheckedOrder, read: Read<readonly VenuePosition[]>): Planned {
  if (!read.ok) return positionsRefusal(instrument.venue, read);
  const held = read.value.find(({ direction }) => direction === order.direction) ?? null;
  if (held === null) return flat(read.value);
  const qtyDecimals = canonicalQtyDecimals(instrument);
  if (order.qtyLots > held.qtyLots) {
    const maxSingleVenueSize = formatScaled(held.qtyLots, qtyDecimals);
    return refusal("SIZE_EXCEEDS_POSITION", { maxSingleVenueSize, maxTotalSize: maxSingleVenueSize });
  }
  const { qtyLots, entryPrice } = held;
  return { ok: true, order, positionsBefore: [{ venue: instrument.venue, qtyLots, qtyDecimals, entryPrice }] };
}
