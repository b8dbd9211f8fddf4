#!/usr/bin/env perl
# Writes src/format/idn_table.h from the Unicode tables that come with Perl:
#   perl spec/support/idn_table.pl > src/format/idn_table.h
# What a code point may do in a host name is derived as RFC 5892, sections 2 and
# 3, says; bidi classes, joining types and scripts serve RFC 5893 and the
# contextual rules of RFC 5892, appendix A.
use strict;
use warnings;
use feature 'fc';
no warnings qw(surrogate nonchar);
use Unicode::Normalize qw(NFKC);
use Unicode::UCD;

my %exception;
$exception{$_} = 'IDN_VALID' for 0xDF, 0x3C2, 0x6FD, 0x6FE, 0xF0B, 0x3007;
$exception{$_} = 'IDN_CONTEXT'
  for 0xB7, 0x375, 0x5F3, 0x5F4, 0x30FB, 0x660 .. 0x669, 0x6F0 .. 0x6F9;
$exception{$_} = '0' for 0x640, 0x7FA, 0x302E, 0x302F, 0x3031 .. 0x3035, 0x303B;

sub status {
  my ($code) = @_;
  my $c = chr $code;
  return $exception{$code} if exists $exception{$code};
  return '0' if $c =~ /\p{Cn}/;
  return 'IDN_VALID' if $c =~ /^[-0-9a-z]$/;
  return 'IDN_CONTEXT' if $c =~ /\p{Join_Control}/;
  return '0' if $c =~ /\p{Hangul_Syllable_Type=L}|\p{Hangul_Syllable_Type=V}|\p{Hangul_Syllable_Type=T}/;
  return '0' if NFKC(fc(NFKC($c))) ne $c;
  return '0' if $c =~ /\p{Default_Ignorable_Code_Point}|\p{White_Space}|\p{Noncharacter_Code_Point}/;
  return '0' if $c =~ /\p{Block=Combining_Diacritical_Marks_For_Symbols}|\p{Block=Musical_Symbols}|\p{Block=Ancient_Greek_Musical_Notation}/;
  return $c =~ /[\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Lm}\p{Mn}\p{Mc}]/ ? 'IDN_VALID' : '0';
}

sub class_of {
  my ($code) = @_;
  return '0' if $code >= 0xD800 && $code <= 0xDFFF;
  my $c = chr $code;
  my $status = status($code);
  return '0' if $status eq '0';
  my @flags = ($status);
  push @flags,
      $c =~ /\p{Bidi_Class=L}/ ? 'BIDI_L'
    : $c =~ /\p{Bidi_Class=R}|\p{Bidi_Class=AL}/ ? 'BIDI_R'
    : $c =~ /\p{Bidi_Class=AN}/ ? 'BIDI_AN'
    : $c =~ /\p{Bidi_Class=EN}/ ? 'BIDI_EN'
    : $c =~ /\p{Bidi_Class=NSM}/ ? 'BIDI_NSM'
    : 'BIDI_NEUTRAL';
  push @flags, 'JOIN_LEFT' if $c =~ /\p{Joining_Type=L}|\p{Joining_Type=D}/;
  push @flags, 'JOIN_RIGHT' if $c =~ /\p{Joining_Type=R}|\p{Joining_Type=D}/;
  push @flags, 'JOIN_TRANSPARENT' if $c =~ /\p{Joining_Type=T}/;
  push @flags, 'IDN_MARK' if $c =~ /\p{M}/;
  push @flags, 'IDN_VIRAMA' if $c =~ /\p{Canonical_Combining_Class=9}/;
  push @flags, 'IDN_GREEK' if $c =~ /\p{Script=Greek}/;
  push @flags, 'IDN_HEBREW' if $c =~ /\p{Script=Hebrew}/;
  push @flags, 'IDN_KANA_HAN' if $c =~ /\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Han}/;
  return join ' | ', @flags;
}

my $last = 0x110000;
my @class = map { class_of($_) } 0 .. $last - 1;

# Runs of one class, or of one class and nothing in turn (lower and upper case).
my (@runs, $i);
for ($i = 0; $i < $last;) {
  my $same = 1;
  $same++ while $i + $same < $last && $class[$i + $same] eq $class[$i];
  my $j = $i;
  my $name = $class[$i] ne '0' ? $class[$i] : ($class[$i + 1] // '0');
  my $parity = ($class[$i] ne '0' ? $i : $i + 1) % 2;
  $j++ while $j < $last && $class[$j] eq ($j % 2 == $parity ? $name : '0');
  if ($name ne '0' && $j - $i >= 4 && $j - $i > $same) {
    push @runs, [$i, $name . ($parity ? ' | IDN_ODD' : ' | IDN_EVEN')];
    $i = $j;
  } else {
    push @runs, [$i, $class[$i]];
    $i += $same;
  }
}

my (%index, @palette);
for my $run (@runs) {
  next if exists $index{$run->[1]};
  $index{$run->[1]} = @palette;
  push @palette, $run->[1];
}
die "too many classes" if @palette > 256;

my $version = Unicode::UCD::UnicodeVersion();
print <<"END";
/*
** idn_table.h - Unicode $version for format/idn.c, written by
** spec/support/idn_table.pl.  Only idn.c includes it.
*/
/* clang-format off */
static const uint16_t idn_classes[] = {
END
print "    $_,\n" for @palette;
print "};\n\n/* Where a run starts, shifted by 8, and the index of its class. */\n";
print "static const uint32_t idn_runs[] = {";
my $column = 120;
for my $run (@runs) {
  my $item = sprintf "0x%x,", $run->[0] << 8 | $index{$run->[1]};
  print "\n    " if ($column += length $item) > 120;
  $column = 4 + length $item if $column > 120;
  print $item;
}
print "\n};\n/* clang-format on */\n";
