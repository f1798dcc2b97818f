/** Somebody else's page, as its server renders it. */
import { renderToString } from "react-dom/server";
import type { VenuefiveTradeError } from "unwind-client";
import { useVenuefiveTrade, VenuefiveProvider } from "unwind-client/react";
import { createPublicClient, http } from "viem";
import { base } from "viem/chains";

const publicClient = createPublicClient({ chain: base, transport: http() });

function Close() {
  const { closeBySymbol, status, error } = useVenuefiveTrade({
    onError: (failure: VenuefiveTradeError) => void failure.outcome,
  });
  return (
    <button type="button" title={error?.code} onClick={() => void closeBySymbol("BTC", "LONG").catch(() => null)}>
      {status}
    </button>
  );
}

process.stdout.write(
  renderToString(
    <VenuefiveProvider config={{ publicClient, walletClient: undefined }}>
      <Close />
    </VenuefiveProvider>,
  ),
);
