/**
 * @file The report of `pnpm bench generate` as text.
 */
import { formatBytes } from '@tessera/tensor/internal';
import type { GenerateReport, GenerateRow } from './generate-bench.js';

const NAME = 12;

const speed = (value: number): string => `${value.toPrecision(3).padStart(8)} tok/s`;
const ratio = (value: number): string => `${value.toFixed(2).padStart(5)}×`;

function rowLines(row: GenerateRow): string[] {
  const { format, weightBytes, bandwidth, bandwidthShare, peers } = row;
  const share = `${Math.round(100 * bandwidthShare)} % of what ${(bandwidth / 1e9).toFixed(1)} GB/s permit`;
  const lines = [
    `  ${format}, ${formatBytes(weightBytes)} a token`,
    `    ${'tessera'.padEnd(NAME)} decode ${speed(row.decodeTokensPerSecond)}         prefill ${speed(row.prefillTokensPerSecond)}           ${share}`,
  ];
  for (const peer of peers) {
    const name = `    ${peer.engine.padEnd(NAME)}`;
    if ('reason' in peer) lines.push(`${name} did not run: ${peer.reason}`);
    else
      lines.push(
        `${name} decode ${speed(peer.decodeTokensPerSecond)} ${ratio(peer.decodeRatio)}  prefill ${speed(peer.prefillTokensPerSecond)} ${ratio(peer.prefillRatio)}    ${formatBytes(peer.weightBytes)} a token, ${Math.round(100 * peer.sameTokens)} % of tokens the same`,
      );
  }
  return lines;
}

/** See the file header; ratios are how many times as fast as Tessera a peer is. */
export function generateTable({
  threads,
  promptTokens,
  answerTokens,
  rows,
}: GenerateReport): string {
  const lines = [
    `${threads} threads, prompts of ${promptTokens} tokens, answers of ${answerTokens}; × is how many times as fast as tessera`,
  ];
  let model: string | null = null;
  for (const row of rows) {
    if (row.model !== model) lines.push('', `${row.model}: ${row.about}`);
    model = row.model;
    lines.push(...rowLines(row));
  }
  return lines.join('\n');
}
