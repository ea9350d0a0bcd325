/**
 * @file How the first dimension of a tensor is split over ranks.
 */
import { TesseraError } from '@tessera/shared';

/**
 * Rows for each rank: `splits`, or equal parts where there are none. `rows` is their sum; null if they say it.
 *
 * @throws invalid-argument unless there is a whole number for each rank, with that sum
 */
export function splitRows(
  name: string,
  what: string,
  rows: number | null,
  splits: readonly number[] | null | undefined,
  size: number,
): readonly number[] {
  const parts = splits ?? Array.from({ length: size }, () => (rows ?? 0) / size);
  const sum = parts.reduce((total, part) => total + part, 0);
  const areWhole = parts.every((part) => Number.isInteger(part) && part >= 0);
  if (parts.length === size && areWhole && (rows === null || sum === rows)) return parts;
  throw new TesseraError(
    'invalid-argument',
    splits == null
      ? `${name}: the first dimension of ${what}, ${rows}, cannot be split evenly over ${size} ranks.`
      : `${name}: the splits of ${what}, [${splits.join(', ')}], must be ${size} whole numbers${rows === null ? '' : ` with sum ${rows}`}.`,
    { hints: ['Give as many sizes as the group has ranks.'] },
  );
}
