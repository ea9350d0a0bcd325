/**
 * @file "Did you mean …": the known names closest to a mistyped one.
 *
 * Used by every error that rejects a name, so suggestions look the same everywhere.
 */

/**
 * Up to `limit` of the `candidates` closest to `name`, best first; empty when nothing is close.
 *
 * Closeness is edit distance with transpositions, ignoring case, hyphens and underscores, at most
 * about a third of the name's length; names of three letters or more that contain the other one count as close too.
 */
export function nearestNames(name: string, candidates: Iterable<string>, limit = 3): string[] {
  const wanted = fold(name);
  const scored: { candidate: string; score: number }[] = [];
  const cutoff = Math.max(1, Math.floor(wanted.length / 3));
  for (const candidate of candidates) {
    const folded = fold(candidate);
    const score = editDistance(wanted, folded);
    if (score > cutoff) {
      const contains = folded.includes(wanted) || wanted.includes(folded);
      if (!contains || Math.min(wanted.length, folded.length) < 3) continue;
    }
    scored.push({ candidate, score });
  }
  scored.sort((a, b) => a.score - b.score || (a.candidate < b.candidate ? -1 : 1));
  return scored.slice(0, limit).map((entry) => entry.candidate);
}

function fold(name: string): string {
  return String(name)
    .toLowerCase()
    .replace(/[-_\s]/g, '');
}

/** Damerau–Levenshtein distance, restricted form: insert, delete, replace, swap neighbours. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, beforeLast[j - 2] + 1);
      }
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length];
}
