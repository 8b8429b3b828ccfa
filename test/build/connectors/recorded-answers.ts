/**
 * Answers of Eurostat, OECD, ILOSTAT, WHO and UNICEF, by path and query below the origin. They were written by hand, with
 * the columns, codes and some figures of answers that others recorded and published; each block names its source. A
 * change of ours that no longer reads this shape fails the tests of `statistical-offices.test.ts`.
 */
import { gzipSync } from 'node:zlib';

export type Answers = Record<string, Buffer | string>;

const gzip = (...lines: string[]): Buffer => gzipSync(`${lines.join('\n')}\n`);
const crlf = (...lines: string[]): string => `${lines.join('\r\n')}\r\n`;

/**
 * Columns: eea.github.io/eea.eurostat.api.fme/assets/help/feature-representation.html (`LAST UPDATE` as day/month/year).
 * Dimensions, codes and figures of une_rt_a: github.com/EdizKesici/ToddLab, tests/fixtures/eurostat_unert_sample.json.
 */
const flow = (name: string, ...cells: string[]): string =>
  [`ESTAT:${name}(1.0)`, '10/09/26 23:00:00', ...cells].join(',');
const flowHead = (...dimensions: string[]): string =>
  ['DATAFLOW', 'LAST UPDATE', ...dimensions, 'TIME_PERIOD,OBS_VALUE,OBS_FLAG,CONF_STATUS'].join(',');
export const EUROSTAT: Answers = {
  '/tps00001?format=SDMX-CSV&compressed=true': gzip(
    flowHead('freq', 'indic_de', 'geo'),
    flow('TPS00001', 'A,JAN,EL,2024,10400720,,'),
    flow('TPS00001', 'A,JAN,EL,2025,10409547,p,'),
    flow('TPS00001', 'A,JAN,EU27_2020,2024,449306184,bep,'),
    flow('TPS00001', 'A,JAN,AM,2024,2990900,,'),
  ),
  '/tps00199?format=SDMX-CSV&compressed=true': gzip(
    flowHead('freq', 'indic_de', 'geo'),
    flow('TPS00199', 'A,TOTFERRT,NO,2023,1.4,b,'),
    flow('TPS00199', 'A,TOTFERRT,NO,2024,:,c,C'),
  ),
  '/une_rt_a?format=SDMX-CSV&compressed=true': gzip(
    flowHead('freq', 'age', 'unit', 'sex', 'geo'),
    flow('UNE_RT_A', 'A,Y15-74,PC_ACT,T,DE,2020,3.6,b,'),
    flow('UNE_RT_A', 'A,Y15-74,PC_ACT,T,DE,2025,3.8,,'),
    flow('UNE_RT_A', 'A,Y15-74,PC_ACT,T,EL,2025,8.9,,'),
    flow('UNE_RT_A', 'A,Y15-74,PC_ACT,T,FR,2025,7.7,d,'),
    flow('UNE_RT_A', 'A,Y15-74,PC_ACT,T,EU27_2020,2025,6,,'),
    flow('UNE_RT_A', 'A,Y15-74,PC_ACT,F,DE,2025,3.5,,'),
    flow('UNE_RT_A', 'A,Y15-24,PC_ACT,T,DE,2025,6.6,,'),
    flow('UNE_RT_A', 'A,Y15-74,THS_PER,T,DE,2025,1498,,'),
  ),
  '/sdg_07_40?format=SDMX-CSV&compressed=true': gzip(
    flowHead('freq', 'nrg_bal', 'unit', 'geo'),
    flow('SDG_07_40', 'A,REN,PC,SE,2023,66.393,,'),
    flow('SDG_07_40', 'A,REN_ELC,PC,SE,2023,87.48,,'),
  ),
};

/**
 * Columns, codes and figures: github.com/EdizKesici/ToddLab, tests/fixtures/oecd_idd_gini_cur.csv, without labels. Label
 * columns as the labelled form of the same service writes them.
 */
const OECD_HEAD =
  'STRUCTURE,STRUCTURE_ID,STRUCTURE_NAME,ACTION,REF_AREA,Reference area,FREQ,Frequency of observation,MEASURE,Measure,' +
  'STATISTICAL_OPERATION,Statistical operation,UNIT_MEASURE,Unit of measure,AGE,Age,METHODOLOGY,Methodology,' +
  'DEFINITION,Definition,POVERTY_LINE,Poverty line,TIME_PERIOD,Time period,OBS_VALUE,Observation value,' +
  'OBS_STATUS,Observation status,UNIT_MULT,Unit multiplier,CURRENCY,Currency,DECIMALS,Decimals,PRICE_BASE,Price base,' +
  'BASE_PER,Base period,CONF_STATUS,Confidentiality status';
const idd = (area: string, measure: string, unit: string, line: string, rest: string): string =>
  `DATAFLOW,OECD.WISE.INE:DSD_WISE_IDD@DF_IDD(1.0),Income distribution database,I,${area},Area,A,Annual,${measure},` +
  `Measure,_Z,Not applicable,${unit},Unit,_T,Total,METH2012,New,D_CUR,Current,${line},Line,${rest},,,,,3,Three,,,,,,`;
const IDD = '/OECD.WISE.INE,DSD_WISE_IDD@DF_IDD,1.0';
const LABELLED = '?dimensionAtObservation=AllDimensions&format=csvfilewithlabels';
export const OECD: Answers = {
  [`${IDD}/.A.INC_DISP_GINI..0_TO_1._T.METH2012.D_CUR.${LABELLED}`]: crlf(
    OECD_HEAD,
    idd('FRA', 'INC_DISP_GINI', '0_TO_1', '_Z', '2023,,0.29899999499321,,A,Normal value'),
    idd('FRA', 'INC_DISP_GINI', '0_TO_1', '_Z', '2022,,0.297,,A,Normal value'),
    idd('CRI', 'INC_DISP_GINI', '0_TO_1', '_Z', '2023,,0.463,,B,Time series break'),
    idd('OECD', 'INC_DISP_GINI', '0_TO_1', '_Z', '2022,,0.315,,E,Estimated value'),
    // Attributes of a series: a row without a period and a figure.
    idd('IDN', 'INC_DISP_GINI', '0_TO_1', '_Z', ',,,,,'),
  ),
  [`${IDD}/.A.PR_INC_DISP._Z.PT_POP._T.METH2012.D_CUR.PL_50${LABELLED}`]: crlf(
    OECD_HEAD,
    idd('FRA', 'PR_INC_DISP', 'PT_POP', 'PL_50', '2022,,8.3,,P,Provisional value'),
  ),
};

/**
 * Columns, codes and figures of X01: github.com/cyanheads/ilostat-mcp-server, tests/fixtures/rplumber: all columns as in
 * une-deap-sex-age-rt-a.csv, fewer as in multi-dataset-union.csv, since the service leaves out columns without a cell;
 * meanings of `obs_status` in dictionaries.json.
 */
const ILO_HEAD =
  '"ref_area","source","indicator","sex","classif1","time","obs_value","obs_status","note_classif","note_indicator","note_source"';
const ILO_FEW = '"ref_area","source","indicator","sex","classif1","time","obs_value"';
export const ILOSTAT: Answers = {
  '/?id=SDG_0852_SEX_AGE_RT_A&format=.csv.gz': gzip(
    ILO_HEAD,
    '"JPN","BA:259","SDG_0852_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2025",2.5,,,,',
    '"JPN","BA:259","SDG_0852_SEX_AGE_RT","SEX_F","AGE_YTHADULT_YGE15","2025",2.4,,,,',
    '"KEN","BB:7021","SDG_0852_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2005",9.957,"B",,"I11:264","R1:3513"',
    '"KEN","BA:7008","SDG_0852_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2020",,"U",,,',
    '"KOS","BA:481","SDG_0852_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2024",10.9,"M",,,',
    '"USA","BA:453","SDG_0852_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2024",4.022,"R",,,"R1:3513_T2:85"',
    '"USA","BA:453","SDG_0852_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2025",4.282,"A",,"I11:264",',
    '"ANT","BA:1","SDG_0852_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2009",9.7,,,,',
    '"X01","XA:8405","SDG_0852_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2027",4.842,,,,',
    '"X36","XA:8405","SDG_0852_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2024",9.1,,,,',
  ),
  '/?id=UNE_2EAP_SEX_AGE_RT_A&format=.csv.gz': gzip(
    ILO_FEW,
    '"JPN","XA:1870","UNE_2EAP_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2024",2.563',
    '"JPN","XA:1870","UNE_2EAP_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2027",2.431',
    '"X01","XA:8405","UNE_2EAP_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2024",4.869',
  ),
  '/?id=EAP_2WAP_SEX_AGE_RT_A&format=.csv.gz': gzip(
    ILO_FEW,
    '"JPN","XA:1870","EAP_2WAP_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2024",63.4',
    '"JPN","XA:1870","EAP_2WAP_SEX_AGE_RT","SEX_T","AGE_YTHADULT_Y15-24","2024",47.1',
  ),
};

/** Members, codes and figures: github.com/EdizKesici/ToddLab, tests/fixtures/gho_sdgsuicide_sample.json. */
const suicide = (place: string, sex: string, age: string, year: number, shown: string, value: number) => ({
  Id: 900_101,
  IndicatorCode: 'SDGSUICIDE',
  SpatialDimType: place === 'EUR' ? 'REGION' : 'COUNTRY',
  SpatialDim: place,
  TimeDimType: 'YEAR',
  ParentLocationCode: place === 'EUR' ? null : 'EUR',
  ParentLocation: place === 'EUR' ? null : 'Europe',
  Dim1Type: 'SEX',
  Dim1: `SEX_${sex}`,
  TimeDim: year,
  Dim2Type: 'AGEGROUP',
  Dim2: `AGEGROUP_${age}`,
  Dim3Type: null,
  Dim3: null,
  DataSourceDimType: null,
  DataSourceDim: null,
  Value: shown,
  NumericValue: value,
  Low: null,
  High: null,
  Comments: null,
  Date: '2025-01-10T10:52:31.77+01:00',
  TimeDimensionValue: String(year),
  TimeDimensionBegin: `${year}-01-01T00:00:00+01:00`,
  TimeDimensionEnd: `${year}-12-31T00:00:00+01:00`,
});
export const WHO: Answers = {
  '/SDGSUICIDE': JSON.stringify({
    '@odata.context': 'https://ghoapi.azureedge.net/api/$metadata#SDGSUICIDE',
    value: [
      suicide('RUS', 'MLE', 'YEARSALL', 2021, '36.7 [34.1-39.4]', 36.68325073),
      suicide('RUS', 'BTSX', 'YEARSALL', 2021, '21.4 [20.1-22.7]', 21.37479131),
      suicide('RUS', 'MLE', 'YEARS50-69', 2021, '64.4', 64.440261841),
      suicide('RUS', 'MLE', 'YEARS15-29', 2021, '23.5', 23.51739502),
      suicide('LTU', 'FMLE', 'YEARSALL', 2000, '12.8 [11.6-14.1]', 12.83071684),
      suicide('EUR', 'BTSX', 'YEARSALL', 2021, '12.2', 12.1704582),
    ],
  }),
};

/** The answer to every other indicator of the WHO. */
export const NO_ROWS = JSON.stringify({ value: [] });

/** Columns, codes and figures: github.com/unicef-drp/unicefData, its recorded answers of 2026-02-14. */
const CME_HEAD =
  'REF_AREA,Geographic area,INDICATOR,Indicator,SEX,Sex,WEALTH_QUINTILE,Wealth Quintile,DATA_SOURCE,COUNTRY_NOTES,' +
  'UNIT_MEASURE,Unit of measure,TIME_PERIOD,OBS_VALUE,REF_PERIOD,LOWER_BOUND,UPPER_BOUND,OBS_STATUS,Observation Status';
const cme = (place: string, indicator: string, sex: string, unit: string, figures: string): string =>
  `${place},Area,${indicator},Name of ${indicator},${sex},Sex,_T,Total,UN_IGME,,${unit},A unit,2020,${figures},A,Normal value`;
const PER_1000 = 'D_PER_1000_B';
const IM_HEAD =
  'REF_AREA,Geographic area,INDICATOR,Indicator,VACCINE,Vaccine,AGE,Current age,UNIT_MULTIPLIER,Unit multiplier,' +
  'UNIT_MEASURE,Unit of measure,SOURCE_LINK,SERIES_FOOTNOTE,TIME_PERIOD,OBS_VALUE,SOWC_FLAG_A,SOWC flag A,OBS_STATUS,' +
  'Observation Status,OBS_CONF,Observation confidentaility,DATA_SOURCE,TIME_PERIOD_METHOD,Time period activity related ' +
  'to when the data are collected,COVERAGE_TIME,FREQ_COLL,Time interval at which the source data are collected,OBS_FOOTNOTE';
export const UNICEF: Answers = {
  '/data/UNICEF,CME,1.0/.CME_MRM0+CME_MRY0+CME_MRY0T4+CME_TMM0+CME_TMY0T4?format=csv&startPeriod=1990': crlf(
    CME_HEAD,
    cme('BRA', 'CME_MRY0T4', '_T', PER_1000, '14.8690551,,13.7071105,16.1183108'),
    cme('BRA', 'CME_MRY0T4', 'F', PER_1000, '13.1817699535802,,12.1070752264054,14.3687725554605'),
    cme('UNICEF_EAP', 'CME_MRY0T4', '_T', PER_1000, '14.9273144264176,,13.8835382015536,16.3929536427862'),
    cme('USA', 'CME_MRM0', '_T', PER_1000, '3.63811577117753,,3.54086166687861,3.73349658907312'),
    cme('USA', 'CME_MRY0', '_T', PER_1000, '5.4,,5.3,5.5'),
    cme('USA', 'CME_TMM0', '_T', 'NUMBER', '13400,,13000,13800'),
    cme('USA', 'CME_TMY0T4', '_T', 'NUMBER', '23900,,23500,24400'),
  ),
  '/data/UNICEF,IMMUNISATION,1.0/.IM_MCV1?format=csv&startPeriod=1980': crlf(
    IM_HEAD,
    'USA,United States,IM_MCV1,Percentage of surviving infants,MCV1,Measles first dose,M12T23,12 to 23 months old,0,' +
      'Units,PCNT,%,,,2023,92,,,E,Estimated value,,,"WHO/UNICEF estimates of national immunization coverage, 2024 ' +
      'revision",,,,,,',
  ),
};
