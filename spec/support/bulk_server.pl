# An HTTP server for bodies of any size: GET /N sends N bytes, any other request is answered with how many bytes its
# body had. Keeps none of them. Prints its port; ends when its standard input does.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;

$| = 1;
$SIG{PIPE} = "IGNORE";
my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 16, Proto => "tcp") or die $!;
print $server->sockport, "\n";
my $ready = IO::Select->new($server, \*STDIN);
my $piece = "x" x 65536;

sub send_body {
  my ($client, $left) = @_;
  print $client "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n"
    . "Content-Length: $left\r\n\r\n";
  $client->flush;
  while ($left > 0) {
    $left -= syswrite($client, $piece, $left < 65536 ? $left : 65536) || return;
  }
}

sub count_body {
  my ($client, $size, $got) = @_;
  while ($got < $size) {
    $got += sysread($client, my $bytes, 65536) || return;
  }
  print $client "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n$got";
}

sub answer {
  my ($client) = @_;
  my $head = "";
  while (index($head, "\r\n\r\n") < 0) {
    sysread($client, $head, 65536, length $head) or return;
  }
  my ($start, $rest) = split /\r\n\r\n/, $head, 2;
  if ($start =~ m{^GET /(\d+)}) {
    send_body($client, $1);
  } elsif ($start =~ /\r\nContent-Length: (\d+)/i) {
    print $client "HTTP/1.1 100 Continue\r\n\r\n" if $start =~ /\r\nExpect:/i;
    count_body($client, $1, length $rest);
  }
}

while (1) {
  for my $handle ($ready->can_read) {
    if ($handle != $server) {
      sysread(STDIN, my $byte, 1) or exit;
      next;
    }
    my $client = $server->accept or next;
    $client->autoflush(1);
    answer($client);
    close $client;
  }
}
