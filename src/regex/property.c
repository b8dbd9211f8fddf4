#include "regex/parse.h"

#include <stdio.h>
#include <string.h>

/* General_Category values as ECMA-262 spells them; PCRE2 has only the short
** names. */
static const char *const categories[][4] = {
    {"LC", "L&", "Cased_Letter", NULL},
    {"Pe", "Pe", "Close_Punctuation", NULL},
    {"Pc", "Pc", "Connector_Punctuation", NULL},
    {"Cc", "Cc", "Control", "cntrl"},
    {"Sc", "Sc", "Currency_Symbol", NULL},
    {"Pd", "Pd", "Dash_Punctuation", NULL},
    {"Nd", "Nd", "Decimal_Number", "digit"},
    {"Me", "Me", "Enclosing_Mark", NULL},
    {"Pf", "Pf", "Final_Punctuation", NULL},
    {"Cf", "Cf", "Format", NULL},
    {"Pi", "Pi", "Initial_Punctuation", NULL},
    {"L", "L", "Letter", NULL},
    {"Nl", "Nl", "Letter_Number", NULL},
    {"Zl", "Zl", "Line_Separator", NULL},
    {"Ll", "Ll", "Lowercase_Letter", NULL},
    {"M", "M", "Mark", "Combining_Mark"},
    {"Sm", "Sm", "Math_Symbol", NULL},
    {"Lm", "Lm", "Modifier_Letter", NULL},
    {"Sk", "Sk", "Modifier_Symbol", NULL},
    {"Mn", "Mn", "Nonspacing_Mark", NULL},
    {"N", "N", "Number", NULL},
    {"Ps", "Ps", "Open_Punctuation", NULL},
    {"C", "C", "Other", NULL},
    {"Lo", "Lo", "Other_Letter", NULL},
    {"No", "No", "Other_Number", NULL},
    {"Po", "Po", "Other_Punctuation", NULL},
    {"So", "So", "Other_Symbol", NULL},
    {"Zp", "Zp", "Paragraph_Separator", NULL},
    {"Co", "Co", "Private_Use", NULL},
    {"P", "P", "Punctuation", "punct"},
    {"Z", "Z", "Separator", NULL},
    {"Zs", "Zs", "Space_Separator", NULL},
    {"Mc", "Mc", "Spacing_Mark", NULL},
    {"Cs", "Cs", "Surrogate", NULL},
    {"S", "S", "Symbol", NULL},
    {"Lt", "Lt", "Titlecase_Letter", NULL},
    {"Cn", "Cn", "Unassigned", NULL},
    {"Lu", "Lu", "Uppercase_Letter", NULL},
};

/* The binary properties of ECMA-262 that PCRE2 has by the same name, each
** between spaces. */
static const char binary[] =
    " ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Bidi_Control "
    "Bidi_C Bidi_Mirrored Bidi_M Case_Ignorable CI Cased "
    "Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM "
    "Changes_When_Lowercased CWL Changes_When_Titlecased CWT "
    "Changes_When_Uppercased CWU Dash Default_Ignorable_Code_Point DI "
    "Deprecated Dep Diacritic Dia Emoji Emoji_Component EComp "
    "Emoji_Modifier EMod Emoji_Modifier_Base EBase Emoji_Presentation "
    "EPres Extended_Pictographic ExtPict Extender Ext Grapheme_Base "
    "Gr_Base Grapheme_Extend Gr_Ext Hex_Digit Hex IDS_Binary_Operator "
    "IDSB IDS_Trinary_Operator IDST ID_Continue IDC ID_Start IDS "
    "Ideographic Ideo Join_Control Join_C Logical_Order_Exception LOE "
    "Lowercase Lower Math Noncharacter_Code_Point NChar Pattern_Syntax "
    "Pat_Syn Pattern_White_Space Pat_WS Quotation_Mark QMark Radical "
    "Regional_Indicator RI Sentence_Terminal STerm Soft_Dotted SD "
    "Terminal_Punctuation Term Unified_Ideograph UIdeo Uppercase Upper "
    "Variation_Selector VS White_Space space XID_Continue XIDC "
    "XID_Start XIDS ";

static bool equal(const char *name, size_t len, const char *text) {
  return text != NULL && strlen(text) == len && memcmp(name, text, len) == 0;
}

/* Finds `text`. */
static bool found(char *out, size_t size, const char *text) {
  snprintf(out, size, "%s", text);
  return true;
}

static bool find_category(const char *name, size_t len, char *out,
                          size_t size) {
  size_t i;
  for (i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
    const char *const *row = categories[i];
    if (equal(name, len, row[0]) || equal(name, len, row[2]) ||
        equal(name, len, row[3])) {
      return found(out, size, row[1]);
    }
  }
  return false;
}

static bool find_binary(const char *name, size_t len, char *out, size_t size,
                        bool *negated) {
  char text[64];
  if (equal(name, len, "Assigned")) {
    *negated = true;
    return found(out, size, "Cn");
  }
  if (len > sizeof(text) - 3) return false;
  snprintf(text, sizeof(text), " %.*s ", (int)len, name);
  if (strlen(text) != len + 2 || memchr(name, ' ', len) != NULL ||
      strstr(binary, text) == NULL)
    return false;
  text[len + 1] = '\0';
  return found(out, size, text + 1);
}

/* Is it the exact name of a script?  PCRE2 ignores case, ECMA-262 does not. */
static bool is_script_name(const char *name, size_t len) {
  size_t i;
  for (i = 0; i < len; i++) {
    bool upper = name[i] >= 'A' && name[i] <= 'Z';
    bool lower = name[i] >= 'a' && name[i] <= 'z';
    bool first = i == 0 || name[i - 1] == '_';
    if (!upper && !lower && name[i] != '_') return false;
    if (first != upper && !equal(name, len, "SignWriting")) return false;
  }
  return len > 1;
}

static bool find_script(const char *kind, const char *name, size_t len,
                        char *out, size_t size) {
  if (!is_script_name(name, len) || len > 40) return false;
  snprintf(out, size, "%s%.*s", kind, (int)len, name);
  return regex_knows_property(out);
}

bool regex_property(const char *name, size_t len, char *out, size_t size,
                    bool *negated) {
  const char *sign = (const char *)memchr(name, '=', len);
  const char *value;
  size_t key_len, value_len;
  *negated = false;
  if (sign == NULL) {
    return find_category(name, len, out, size) ||
           find_binary(name, len, out, size, negated);
  }
  value = sign + 1;
  key_len = (size_t)(sign - name);
  value_len = len - key_len - 1;
  if (equal(name, key_len, "General_Category") || equal(name, key_len, "gc")) {
    return find_category(value, value_len, out, size);
  }
  if (equal(name, key_len, "Script") || equal(name, key_len, "sc")) {
    return find_script("sc:", value, value_len, out, size);
  }
  if (equal(name, key_len, "Script_Extensions") ||
      equal(name, key_len, "scx")) {
    return find_script("scx:", value, value_len, out, size);
  }
  return false;
}
