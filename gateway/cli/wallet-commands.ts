/** `unwind wallets …`: server wallets of the service, and with `--cosigner` those of the co-signer. */
import type { Command } from "commander";
import {
  call,
  COSIGNER_FLAG,
  COSIGNER_TEXT,
  cosignerOf,
  JSON_FLAG,
  JSON_TEXT,
  type Options,
  type ProgramParts,
} from "./cli-call.js";
import { inventoryForPeer, restoreWallet } from "./restore-wallet.js";
import { fieldsText, walletsText } from "./output.js";
import type { WalletLine } from "../admin/wallet-admin.js";

export function addWallets(wallets: Command, parts: ProgramParts): void {
  withFlags(wallets.command("list").description("all wallets, of every owner")).action((options: Options) =>
    parts.run(
      call("wallets.list", {}, options, (list) => walletsText((list as { wallets: readonly WalletLine[] }).wallets)),
    ),
  );
  withFlags(
    wallets
      .command("refresh <walletId>")
      .description("new shares of the same address; with --cosigner: allows that after a restore, ten minutes and once")
      .option("--after-restore", "the other side's wallet was restored"),
  ).action((walletId: string, options: Options) => {
    const params = { walletId, afterRestore: options["afterRestore"] === true };
    return parts.run(call("wallets.refresh", params, options, reportText));
  });
  withFlags(
    wallets
      .command("unfreeze <walletId>")
      .description("the way out of a freeze: first with --cosigner, which allows it, then without"),
  ).action((walletId: string, options: Options) =>
    parts.run(call("wallets.unfreeze", { walletId }, options, reportText)),
  );
  addRestores(wallets, parts);
}

function addRestores(wallets: Command, parts: ProgramParts): void {
  withFlags(
    withBackups(
      wallets
        .command("inventory <walletId>")
        .description(
          "what this side has of a wallet, as JSON for the operator of the other side; nothing in it is secret",
        ),
    ),
  ).action((walletId: string, options: Options) =>
    parts.act({
      json: options["json"] === true,
      run: (tools) => inventoryForPeer(tools, { walletId, ...placeOf(options) }),
      textOf: (inventory) => `${JSON.stringify(inventory, null, 2)}\n`,
    }),
  );
  withFlags(
    withBackups(wallets.command("restore <walletId>").description("bring a wallet back from a backup of this side"))
      .requiredOption("--key-file <file>", "private backup key of this side; its owner alone may read the file")
      .requiredOption("--peer <file>", "what `unwind wallets inventory` printed at the other side"),
  ).action((walletId: string, options: Options) =>
    parts.act({
      json: options["json"] === true,
      run: (tools) =>
        restoreWallet(tools, {
          ...{ walletId, ...placeOf(options) },
          ...{ keyFile: String(options["keyFile"]), peerFile: String(options["peer"]) },
        }),
      textOf: reportText,
    }),
  );
}

function withBackups(command: Command): Command {
  return command.requiredOption("--backups <folder>", "the backups of this side");
}

function withFlags(command: Command): Command {
  return command.option(COSIGNER_FLAG, COSIGNER_TEXT).option(JSON_FLAG, JSON_TEXT);
}

function placeOf(options: Options) {
  return { folder: String(options["backups"]), cosigner: cosignerOf(options) };
}

function reportText(report: unknown): string {
  return fieldsText(report as object);
}
