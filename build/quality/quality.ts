/**
 * Quality: what the build doubts about the figures that it publishes, and what a person has decided about it.
 *
 * - A finding has the same id every night, the day of its first night, and the change since the night before.
 * - A decision holds while the doubt is no larger than it was when decided; then it lapses and the finding is open again.
 * - A check that fails is logged, and its findings of the night before stand: it never holds up the figures.
 * - The reports of all nights are kept in the lake. A report becomes visible with the snapshot that it is about.
 * - It is told what is published and reads the files of the build; it knows no edition.
 */
export type { MeasuredSeries } from './check.ts';
export { type ConceptWords, readConcept, readTraits, unitsAgree } from './concept-words.ts';
export { QualityReports } from './findings.ts';
export { operatorReportOf, type QualityReport, qualityLine, reportQuality } from './report.ts';
